"""The relay, as strangers meet it: the WebSocket client and the Ed25519 of other people, and nothing of ours."""

import base64
import contextlib
import json
import os
import subprocess
import time

import pytest
import requests
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat
from websockets.exceptions import ConnectionClosed, InvalidStatus
from websockets.sync.client import connect

from sandbox import PROGRAM

ALPHABET = "123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz"


def base58(data):
    number, text = int.from_bytes(data, "big"), ""
    while number:
        number, digit = divmod(number, 58)
        text = ALPHABET[digit] + text
    return text


def base64url(data):
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


def token(age=0):
    key = Ed25519PrivateKey.generate()
    public = key.public_key().public_bytes(Encoding.Raw, PublicFormat.Raw)
    issued = int(time.time()) - age
    claims = {
        "iss": "did:key:z" + base58(b"\xed\x01" + public),
        "sub": os.urandom(32).hex(),
        # As one wallet has it, wherever it connects.
        "aud": "wss://relay.walletconnect.com",
        "iat": issued,
        "exp": issued + 3600,
    }
    signed = base64url(b'{"alg":"EdDSA","typ":"JWT"}') + "." + base64url(json.dumps(claims).encode())
    return signed + "." + base64url(key.sign(signed.encode()))


@pytest.fixture(scope="module")
def relay():
    process = subprocess.Popen([PROGRAM, "relay"], stdout=subprocess.PIPE, text=True)
    yield json.loads(process.stdout.readline())["url"]
    process.terminate()
    assert process.wait(10) == 0


@pytest.fixture
def client(relay):
    """Makes clients, each with a key of its own, that leave when the test ends."""
    with contextlib.ExitStack() as stack:
        yield lambda: Client(
            stack.enter_context(connect(f"{relay}/?auth={token()}&projectId={'0' * 32}", max_size=1 << 22))
        )


class Client:
    def __init__(self, socket):
        self.socket = socket
        self.number = int(time.time() * 1e9)

    def ask(self, method, **params):
        self.number += 1
        frame = {"id": self.number, "jsonrpc": "2.0", "method": method, "params": params}
        self.socket.send(json.dumps(frame))
        answer = self.next()
        assert answer["id"] == self.number
        return answer

    def next(self):
        return json.loads(self.socket.recv(timeout=10))


def test_a_message_waits_for_who_comes_later_and_goes_when_it_was_taken(client):
    sender, receiver, topic = client(), client(), os.urandom(32).hex()
    posted = {"topic": topic, "message": "AAECAw==", "ttl": 300, "tag": 1100, "prompt": True}
    assert sender.ask("irn_publish", **posted)["result"] is True
    subscription = receiver.ask("irn_subscribe", topic=topic)["result"]
    push = receiver.next()
    assert push["method"] == "irn_subscription"
    assert push["id"] < 2**53
    assert push["params"]["id"] == subscription
    assert push["params"]["data"]["message"] == posted["message"]
    assert receiver.ask("irn_fetchMessages", topic=topic)["result"]["messages"][0]["message"] == posted["message"]
    # One wallet acknowledges in binary frames.
    receiver.socket.send(json.dumps({"id": push["id"], "jsonrpc": "2.0", "result": True}).encode())
    assert receiver.ask("irn_fetchMessages", topic=topic)["result"] == {"messages": [], "hasMore": False}
    assert receiver.ask("irn_unsubscribe", topic=topic, id=subscription)["result"] is True


def test_a_proposal_and_its_approval_are_carried_in_one_call_each(client):
    dapp, wallet = client(), client()
    pairing, session = os.urandom(32).hex(), os.urandom(32).hex()
    assert dapp.ask("wc_proposeSession", pairingTopic=pairing, sessionProposal="AA==")["result"] is True
    wallet.ask("irn_batchSubscribe", topics=[pairing])
    assert wallet.next()["params"]["data"]["tag"] == 1100
    dapp.ask("irn_subscribe", topic=session)
    approval = {"sessionProposalResponse": "AQ==", "sessionSettlementRequest": "Ag=="}
    assert wallet.ask("wc_approveSession", pairingTopic=pairing, sessionTopic=session, **approval)["result"] is True
    assert {dapp.next()["params"]["data"]["tag"] for _ in range(2)} == {1101, 1102}


@pytest.mark.parametrize("query, status", [("", 401), ("?auth=x", 403), ("?auth=" + token(age=7200), 401)])
def test_who_shows_no_good_token_is_refused(relay, query, status):
    with pytest.raises(InvalidStatus) as refused, connect(relay + "/" + query):
        pass
    assert refused.value.response.status_code == status


def test_an_oversized_frame_closes_with_1009_and_a_fragmented_one_is_read(client):
    client = client()
    text = json.dumps({"id": 1234567890, "jsonrpc": "2.0", "method": "irn_subscribe", "params": {"topic": "ab" * 32}})
    client.socket.send([text[:20], text[20:50], text[50:]])
    assert client.next()["id"] == 1234567890
    with pytest.raises(ConnectionClosed):
        client.socket.send("x" * 2_000_000)
        client.socket.recv(timeout=10)
    assert client.socket.protocol.close_rcvd is None or client.socket.protocol.close_rcvd.code == 1009


def test_health_and_counts_are_served_beside(relay):
    base = relay.replace("ws://", "http://")
    assert requests.get(base + "/healthz", timeout=10).text == "ok\n"
    counts = requests.get(base + "/metrics", timeout=10)
    assert counts.headers["Content-Type"].startswith("text/plain; version=0.0.4")
    assert "till_relay_connections " in counts.text
    assert requests.get(base + "/", timeout=10).status_code == 426
    assert requests.get(base + "/control/faults", timeout=10).status_code == 404
