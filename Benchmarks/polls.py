#!/usr/bin/env python3
"""Ten thousand open payments and a wallet's question about each that the sandbox gateway holds: what waiting costs.

    Benchmarks/polls.py PROGRAM [COUNT]

One line of JSON: seconds until all are waiting, kilobytes and processor time per waiting question, and how long the
answers take when all payments end at once. The client is this process, on the same processors.
"""
import json
import os
import pathlib
import re
import resource
import select
import socket
import subprocess
import sys
import time

KEY, MERCHANT, CONTROL = "wcp_bench", "mrch_bench", "control"
HEADERS = f"Host: sandbox\r\nApi-Key: {KEY}\r\nMerchant-Id: {MERCHANT}\r\n"
WAIT_MILLISECONDS = 25_000


class Connection:
    """Requests one after the other on one connection."""

    def __init__(self, port):
        self.socket = socket.create_connection(("127.0.0.1", port), timeout=60)
        self.rest = b""

    def call(self, method, path, body="", headers=HEADERS):
        text = f"{method} {path} HTTP/1.1\r\n{headers}Content-Length: {len(body)}\r\n\r\n{body}"
        self.socket.sendall(text.encode())
        while b"\r\n\r\n" not in self.rest:
            self.rest += self.socket.recv(65536)
        head, _, self.rest = self.rest.partition(b"\r\n\r\n")
        length = int(re.search(rb"content-length: (\d+)", head, re.I).group(1))
        while len(self.rest) < length:
            self.rest += self.socket.recv(65536)
        answer, self.rest = self.rest[:length], self.rest[length:]
        return json.loads(answer)


def resident_kilobytes(pid):
    return int(re.search(r"VmRSS:\s+(\d+)", pathlib.Path(f"/proc/{pid}/status").read_text()).group(1))


def processor_seconds(pid):
    fields = pathlib.Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def measure(process, port, count):
    control = Connection(port)
    body = '{"referenceId":"A","amount":{"unit":"iso4217/USD","value":"100"}}'
    began = time.monotonic()
    payments = [control.call("POST", "/v1/payments", body)["paymentId"] for _ in range(count)]
    created = time.monotonic() - began
    before = resident_kilobytes(process.pid)

    began = time.monotonic()
    ready = select.epoll()
    waiting = {}
    for payment in payments:
        client = socket.create_connection(("127.0.0.1", port), timeout=60)
        client.sendall(f"GET /v1/payments/{payment}/status?maxPollMs={WAIT_MILLISECONDS} HTTP/1.1\r\n{HEADERS}\r\n".encode())
        ready.register(client, select.EPOLLIN)
        waiting[client.fileno()] = client
    authorization = f"Host: sandbox\r\nAuthorization: Bearer {CONTROL}\r\n"
    while control.call("GET", "/control/waiting", headers=authorization)["waiting"] < count:
        time.sleep(0.02)
    gathered = time.monotonic() - began
    held = resident_kilobytes(process.pid)

    used, began = processor_seconds(process.pid), time.monotonic()
    time.sleep(5)
    idle = (processor_seconds(process.pid) - used) / (time.monotonic() - began)

    began, used = time.monotonic(), processor_seconds(process.pid)
    control.socket.sendall(f"POST /control/expire HTTP/1.1\r\n{authorization}Content-Length: 2\r\n\r\n{{}}".encode())
    right = 0
    while waiting:
        for descriptor, _ in ready.poll(60):
            if descriptor not in waiting:
                continue
            right += b'"status":"expired"' in waiting[descriptor].recv(65536)
            ready.unregister(descriptor)
            waiting.pop(descriptor).close()
    released = time.monotonic() - began
    return {
        "count": count, "right": right, "createSeconds": created, "waitingSeconds": gathered,
        "kilobytesPerWaiting": (held - before) / count, "residentMegabytes": held / 1024,
        "idleProcessorShare": idle, "releaseSeconds": released,
        "releaseProcessorSeconds": processor_seconds(process.pid) - used,
    }


def main():
    count = int(sys.argv[2]) if len(sys.argv) > 2 else 10_000
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    process = subprocess.Popen(
        [sys.argv[1], "gateway", "--merchant", MERCHANT, "--api-key", KEY, "--control-token", CONTROL, "--expire-after", "3600"],
        stdout=subprocess.PIPE,
        text=True,
    )
    try:
        port = json.loads(process.stdout.readline())["port"]
        print(json.dumps(measure(process, port, count)))
    finally:
        process.terminate()
        process.wait(30)


main()
