"""A customer's wallet made of pyWalletConnect, unmodified. The QR code's text comes on the standard input.

Usage: foreign_wallet.py RELAY_HOST:PORT MODE [CHAIN]. The relay speaks TLS; SSL_CERT_FILE names who is believed.
MODE: approve, reject, or decline (agree to the session, sign nothing). Says one line of JSON for each thing that happens.
Ends when the session does.
"""

import json
import sys
import time

from pywalletconnect import WCClient
from pywalletconnect.client_v2irn import WCv2Client

import typed_data

KEY = int.from_bytes(typed_data.keccak(b"a foreign wallet's key, for trials only"), "big") % typed_data.N


def say(step, **more):
    print(json.dumps({"step": step, "ms": time.time_ns() / 1e6, **more}), flush=True)


def main(relay, mode, chain="8453"):
    WCv2Client.host_relay = relay
    WCClient.set_project_id("0" * 32)
    account = typed_data.address(KEY)
    client = WCClient.from_wc_uri(sys.stdin.readline().strip())
    proposal, chains, peer = client.open_session()
    say("asked", chains=chains, peer=peer["name"])
    if mode == "reject":
        client.reject_session_request(proposal)
        say("rejected")
        return
    client.reply_session_request(proposal, chain if chain in chains else chains[0], account)
    say("settled", account=account)
    end = time.monotonic() + 60
    while time.monotonic() < end:
        number, method, params = client.get_message()
        if number is None:
            time.sleep(0.02)
        elif method == "wc_sessionRequest":
            request = params["request"]
            say("requested", method=request["method"], chain=params["chainId"])
            if mode == "decline":
                client.reply_error(number, "User rejected.", 4001)
                say("declined")
            elif request["method"] == "eth_signTypedData_v4":
                client.reply(number, typed_data.sign(KEY, typed_data.digest(request["params"][1])))
                say("signed")
            elif request["method"] == "eth_sendTransaction":
                client.reply(number, "0x" + typed_data.keccak(json.dumps(request["params"]).encode()).hex())
                say("sent")
            else:
                client.reply_error(number, "Unsupported.", 4200)
        elif method == "wc_sessionDelete":
            say("over", reason=params["message"])
            client.wallet_id = ""  # Nothing to end: the terminal did.
            return
    say("timeout")


if __name__ == "__main__":
    main(*sys.argv[1:])
