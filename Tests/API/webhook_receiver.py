"""A webhook's receiver, whole, with Python's own library alone: `WEBHOOK_SECRET=whsec_… python3 webhook_receiver.py --port 8088`.

Says each event once on standard output, as a line of JSON.
"""

import argparse
import base64
import hashlib
import hmac
import json
import os
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

#: A message that is older or newer than this was overheard and is sent again by somebody else, or one clock is wrong.
TOLERANCE_SECONDS = 300
MOST_BYTES = 64 * 1024


def is_genuine(secret: str, headers, body: bytes) -> bool:
    """Whether the terminal that has the secret sent this, and just now."""
    identifier, timestamp = headers.get("webhook-id", ""), headers.get("webhook-timestamp", "")
    if not timestamp.isdigit() or abs(time.time() - int(timestamp)) > TOLERANCE_SECONDS:
        return False
    key = base64.b64decode(secret.removeprefix("whsec_"))
    signed = f"{identifier}.{timestamp}.".encode() + body
    expected = base64.b64encode(hmac.new(key, signed, hashlib.sha256).digest()).decode()
    given = [part.removeprefix("v1,") for part in headers.get("webhook-signature", "").split() if part.startswith("v1,")]
    return any(hmac.compare_digest(expected, one) for one in given)


class Receiver(BaseHTTPRequestHandler):
    secret = ""
    #: A real till keeps these with what it does about them, in one transaction.
    seen: set[str] = set()

    def do_POST(self):
        length = int(self.headers.get("Content-Length", 0))
        if length > MOST_BYTES:
            return self.answer(413)
        body = self.rfile.read(length)
        if not is_genuine(self.secret, self.headers, body):
            return self.answer(401)
        identifier = self.headers["webhook-id"]
        if identifier not in self.seen:
            message = json.loads(body)
            print(json.dumps({"event": message["type"], "id": identifier, "charge": message["data"].get("id"), "data": message["data"]}), flush=True)
            # Only now: what is not taken is sent again.
            self.seen.add(identifier)
        self.answer(204)

    def answer(self, status: int):
        self.send_response(status)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, *_):
        pass


if __name__ == "__main__":
    arguments = argparse.ArgumentParser()
    arguments.add_argument("--port", type=int, default=8088)
    Receiver.secret = os.environ.get("WEBHOOK_SECRET", "")
    server = ThreadingHTTPServer(("127.0.0.1", arguments.parse_args().port), Receiver)
    print(json.dumps({"ready": True, "url": f"http://127.0.0.1:{server.server_port}"}), flush=True)
    server.serve_forever()
