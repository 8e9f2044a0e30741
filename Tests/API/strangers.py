"""Strangers on the shop's network, many at once, from addresses of loopback that stand for other machines. A program of its own, so
that its work does not slow down whoever measures.

    strangers.py bodies URL   320 connections from 12 addresses, each with a long body that never ends, and wrong sign-ins beside
    strangers.py slow URL     1,000 connections from 12 addresses that never finish a handshake or a head

It goes on until its standard input ends, and says then what it was answered."""

import asyncio
import collections
import json
import os
import ssl
import sys
import urllib.parse

ADDRESSES = [f"127.0.9.{number}" for number in range(1, 13)]
BODY = 700 * 1024

said: collections.Counter = collections.Counter()


def tls() -> ssl.SSLContext:
    context = ssl.create_default_context()
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    return context


TLS = tls()


async def connect(host: str, port: int, address: str, secure: bool = True):
    return await asyncio.wait_for(
        asyncio.open_connection(host, port, ssl=TLS if secure else None, local_addr=(address, 0)), 30
    )


async def answer(reader: asyncio.StreamReader) -> str:
    line = await reader.readline()
    return line.split(b" ")[1].decode() if line.startswith(b"HTTP/") else "nothing"


async def long_body(host: str, port: int, address: str) -> None:
    """Announces 700 KiB, sends as much as is taken, and holds what is left."""
    while True:
        writer = None
        try:
            reader, writer = await connect(host, port, address)
            head = f"POST /api/v1/restore HTTP/1.1\r\nHost: {host}:{port}\r\nContent-Type: application/json\r\n"
            head += f"Origin: https://{host}:{port}\r\nContent-Length: {BODY}\r\n\r\n"
            writer.write(head.encode() + b"x" * (BODY - 1))
            said["bodies " + await asyncio.wait_for(answer(reader), 60)] += 1
            await asyncio.wait_for(reader.read(), 60)
        except (OSError, asyncio.TimeoutError, ssl.SSLError):
            said["bodies cut"] += 1
        finally:
            if writer:
                writer.transport.abort()
        await asyncio.sleep(0.5)


async def wrong_sign_in(host: str, port: int, address: str) -> None:
    body = json.dumps({"password": "not this one: " + address})
    while True:
        writer = None
        try:
            reader, writer = await connect(host, port, address)
            head = f"POST /api/v1/login HTTP/1.1\r\nHost: {host}:{port}\r\nContent-Type: application/json\r\n"
            head += f"Origin: https://{host}:{port}\r\nContent-Length: {len(body)}\r\n\r\n"
            writer.write((head + body).encode())
            said["sign-ins " + await asyncio.wait_for(answer(reader), 60)] += 1
        except (OSError, asyncio.TimeoutError, ssl.SSLError):
            said["sign-ins cut"] += 1
        finally:
            if writer:
                writer.transport.abort()
        await asyncio.sleep(0.2)


async def slow(host: str, port: int, address: str, kind: int) -> None:
    """Silence, a part of a handshake, a whole one and silence, or a head that comes byte by byte."""
    while True:
        writer = None
        try:
            reader, writer = await connect(host, port, address, secure=kind >= 2)
            said["slow held"] += 1
            if kind == 1:
                writer.write(bytes([0x16, 3, 1, 2, 0, 1]))
            if kind == 3:
                writer.write(b"GET / HT")
            while await asyncio.wait_for(reader.read(1000), 3600):
                pass
        except (OSError, asyncio.TimeoutError, ssl.SSLError):
            said["slow cut"] += 1
        finally:
            if writer:
                writer.transport.abort()
        await asyncio.sleep(5)


async def main(what: str, url: str) -> None:
    place = urllib.parse.urlsplit(url)
    host, port = "127.0.0.1" if place.hostname == "localhost" else place.hostname, place.port
    if what == "bodies":
        work = [long_body(host, port, ADDRESSES[number % 12]) for number in range(320)]
        work += [wrong_sign_in(host, port, address) for address in ADDRESSES]
    else:
        work = [slow(host, port, ADDRESSES[number % 12], number % 4) for number in range(1000)]
    tasks = [asyncio.ensure_future(one) for one in work]
    await asyncio.get_running_loop().run_in_executor(None, sys.stdin.read)
    print(json.dumps(said), flush=True)
    os._exit(0 if tasks else 1)  # They have nothing to tidy up.


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:3]))
