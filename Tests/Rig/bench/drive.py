"""Lets Till and the terminal over bleak take payments, each when it is told to, from one process that does the same work for
both: it waits for the phone's word that the payment has ended, and asks nobody meanwhile.

    drive.py --page URL --cookies FILE --token TOKEN --turns LOG [-- COMMAND OF THE OTHER TERMINAL…]

It says `ready`, and then for each line `till MINOR-UNITS` or `bleak MINOR-UNITS` that it reads `paid`, or `failed: why`.
`phone LOG` names another phone's log. With a further word in the line the payment is none of those that are measured.
"""

import argparse
import http.client
import http.cookiejar
import json
import pathlib
import queue
import ssl
import subprocess
import sys
import threading
import time
import urllib.parse
import uuid

# How often is looked whether the phone has ended its payment.
PACE = 0.1
PATIENCE = 60


class Page:
    """Till's page with the owner's session, over one connection that stays open."""

    def __init__(self, page, cookies, token):
        address = urllib.parse.urlsplit(page)
        # The certificate is the terminal's own.
        context = ssl.create_default_context()
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
        self.connection = http.client.HTTPSConnection(address.hostname, address.port, timeout=PATIENCE, context=context)
        jar = http.cookiejar.MozillaCookieJar()
        # Cookies that scripts may not read stand behind a mark that this reader takes for a comment.
        text = pathlib.Path(cookies).read_text().replace("#HttpOnly_", "")
        plain = pathlib.Path(cookies + ".plain")
        plain.write_text("# Netscape HTTP Cookie File\n" + text)
        jar.load(str(plain), ignore_discard=True, ignore_expires=True)
        plain.unlink()
        self.headers = {
            "Origin": page,
            "X-CSRF-Token": token,
            "Cookie": "; ".join(f"{cookie.name}={cookie.value}" for cookie in jar),
        }

    def ask(self, method, path, body=None, **headers):
        headers = {**self.headers, **headers}
        if body is not None:
            body, headers["Content-Type"] = json.dumps(body), "application/json"
        try:
            return self.answer(method, path, body, headers)
        except (ConnectionError, ssl.SSLError, http.client.HTTPException):
            # It rested too long and was closed. A charge that was opened all the same is found by its key.
            self.connection.close()
            return self.answer(method, path, body, headers)

    def answer(self, method, path, body, headers):
        self.connection.request(method, "/api/v1/" + path, body, headers)
        answer = self.connection.getresponse()
        data = answer.read()
        if answer.status // 100 != 2:
            raise RuntimeError(f"{method} {path}: {answer.status} {data[:200]!r}")
        return json.loads(data or b"{}")

    def state(self, charge):
        charges = self.ask("GET", "charges?limit=5")["charges"]
        return next((found["state"] for found in charges if found["id"] == charge), "unknown")


class Phone:
    """What the phone's log says, read once as it grows."""

    def __init__(self, path):
        self.path, self.position, self.ended = pathlib.Path(path), 0, 0

    def look(self):
        """How many payments it has ended."""
        with self.path.open("rb") as log:
            log.seek(self.position)
            *whole, _ = log.read().split(b"\n")
        self.position += sum(len(line) + 1 for line in whole)
        self.ended += sum(b" Ended " in line for line in whole)
        return self.ended

    def wait(self, wanted, terminal):
        end = time.monotonic() + PATIENCE
        while self.look() < wanted and not terminal.has_given_up():
            if time.monotonic() > end:
                raise TimeoutError("the phone ends no payment")
            time.sleep(PACE)


class Till:
    def __init__(self, page):
        self.page = page

    def begin(self, amount):
        key = {"Idempotency-Key": str(uuid.uuid4())}
        self.charge = self.page.ask("POST", "charges", {"amount": f"{amount / 100:.2f}"}, **key)["id"]

    def end(self):
        end = time.monotonic() + PATIENCE
        while (state := self.page.state(self.charge)) != "succeeded":
            if time.monotonic() > end:
                raise TimeoutError(f"the charge is {state}")
            time.sleep(PACE)

    def has_given_up(self):
        return False

    def drop(self):
        self.page.ask("POST", f"charges/{self.charge}/cancel", {})


class Bleak:
    def __init__(self, command):
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.lines = queue.Queue()
        threading.Thread(target=self.read, daemon=True).start()

    def read(self):
        for line in self.process.stdout:
            self.lines.put(line.strip())
        self.lines.put("the terminal over bleak has ended")

    def begin(self, amount):
        print("pay", amount, file=self.process.stdin, flush=True)

    def end(self):
        said = self.lines.get(timeout=2 * PATIENCE)
        if said != "paid":
            raise RuntimeError(said)

    def has_given_up(self):
        return self.lines.queue and self.lines.queue[0] != "paid"

    def drop(self):
        """It gives up by itself; what it still says is not of the next payment."""
        try:
            self.lines.get(timeout=2 * PATIENCE)
        except queue.Empty:
            pass


def main():
    parser = argparse.ArgumentParser()
    for name in ("--page", "--cookies", "--token", "--turns"):
        parser.add_argument(name, required=True)
    parser.add_argument("command", nargs="*")
    options = parser.parse_args()
    terminals = {"till": Till(Page(options.page, options.cookies, options.token))}
    if options.command:
        terminals["bleak"] = bleak = Bleak(options.command)
        said = bleak.lines.get(timeout=240)
        if said != "ready":
            sys.exit(f"the other terminal says {said}")
    phone = None
    print("ready", flush=True)
    while line := sys.stdin.readline():
        word, value, *rest = line.split()
        if word == "phone":
            phone = Phone(value)
            continue
        terminal = terminals[word]
        before = phone.look()
        if not rest:
            with open(options.turns, "a") as turns:
                print(f"{time.time():.6f} {word}", file=turns)
        try:
            terminal.begin(int(value))
            try:
                phone.wait(before + 1, terminal)
            except TimeoutError:
                terminal.drop()
                raise
            terminal.end()
            print("paid", flush=True)
        except Exception as error:
            print(f"failed: {type(error).__name__} {error}".replace("\n", " "), flush=True)


main()
