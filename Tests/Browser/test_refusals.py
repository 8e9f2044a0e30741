"""What the terminal refuses, and in which words: bad input to every form and route of its API, over its own TLS.

One story, in order: an unclaimed terminal, the claim, the first set-up, then a shop that charges. A refusal is a status
and a stable code, a sentence and what to do, and nothing stored. At the end settings, charges and the gateway's payments
are what they were, a good charge is paid, and no secret is in any answer, log or file.

Needs a fresh shop of its own, with its state directory: `scripts/with-shop python Tests/Browser/test_refusals.py`.
"""

import base64
import http.client
import itertools
import json
import pathlib
import re
import select
import socket
import ssl
import subprocess
import sys
import threading
import time
import urllib.parse
import urllib.request
import uuid
from collections.abc import Iterator
from dataclasses import dataclass

import pytest

from shopfloor import OWNER_PASSWORD, Shop

API = "/api/v1"
PATIENCE_SECONDS = 30
#: Well formed, and not the name of any charge.
NO_CHARGE = "01941f29-7c00-7000-8000-000000000001"
#: In every secret that is typed here.
CANARY = "canary-5e1f0b7d"
MERCHANT_NAME = "Café Zoë"
LIMIT_MINOR = 100_000
#: Refusals between two looks at what is stored, each of which costs as much as three refusals.
LOOK_AFTER = 20


# Asking the terminal


@dataclass(frozen=True)
class Session:
    """A signed-in browser: its cookie and what proves that a request comes from its page."""

    cookie: str
    csrf: str


@dataclass(frozen=True)
class Answer:
    """What came back, and what was asked."""

    asked: str
    status: int
    headers: list[tuple[str, str]]
    body: bytes

    def all(self, name: str) -> list[str]:
        return [value for key, value in self.headers if key.lower() == name.lower()]

    def header(self, name: str) -> str | None:
        return next(iter(self.all(name)), None)

    @property
    def json(self):
        assert self.header("Content-Type") == "application/json", f"{self} is no JSON"
        return json.loads(self.body)

    def __str__(self) -> str:
        return f"{self.asked} -> {self.status} {self.body[:400].decode(errors='replace')}"


#: Every answer of every terminal, for what must hold for all of them.
HEARD: list[Answer] = []
#: Secrets by what they are, for what must not be found anywhere.
SECRETS: dict[str, str] = {"a canary": CANARY}


def any_certificate() -> ssl.SSLContext:
    """The terminal's certificate is its own; its fingerprint on the screen is for people to compare."""
    tls = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    tls.check_hostname, tls.verify_mode = False, ssl.CERT_NONE
    return tls


class Terminal:
    """A terminal at the other end of a TLS socket. Says exactly the bytes that a test wants said."""

    def __init__(self, url: str) -> None:
        self.origin = url
        parts = urllib.parse.urlsplit(url)
        self.host, self.address = parts.netloc, (parts.hostname, parts.port)
        self.kept: ssl.SSLSocket | None = None
        self.kept_at = 0.0

    def connect(self, source: str | None = None, tls: ssl.SSLContext | None = None) -> ssl.SSLSocket:
        plain = socket.create_connection(self.address, PATIENCE_SECONDS, (source, 0) if source else None)
        plain.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        return (tls or any_certificate()).wrap_socket(plain)

    def request(
        self, method: str, path: str, body: dict | bytes | None = None, headers: dict | None = None, session: Session | None = None
    ) -> bytes:
        """A request as the terminal's own page sends it, but for `headers`: None leaves one out, a list repeats it."""
        if isinstance(body, dict):
            body = json.dumps(body).encode()
        fields: dict = {"Host": self.host}
        if method not in ("GET", "HEAD"):
            fields |= {"Origin": self.origin, "Content-Type": "application/json", "Content-Length": str(len(body or b""))}
        if session:
            fields["Cookie"] = f"__Host-till={session.cookie}"
            if method not in ("GET", "HEAD"):
                fields["X-CSRF-Token"] = session.csrf
        head = f"{method} {path} HTTP/1.1\r\n".encode()
        for name, values in (fields | (headers or {})).items():
            for value in values if isinstance(values, list) else [values]:
                if value is not None:
                    head += name.encode() + b": " + (value if isinstance(value, bytes) else value.encode()) + b"\r\n"
        return head + b"\r\n" + (body or b"")

    def hear(self, connection: ssl.SSLSocket, request: bytes) -> tuple[Answer, bool]:
        """Reads the answer to what was sent, and whether more can be asked. A stream of events is left after its head."""
        line = request.partition(b"\r\n")[0]
        response = http.client.HTTPResponse(connection, method=line.partition(b" ")[0].decode(errors="replace"))
        response.begin()
        is_stream = response.headers.get_content_type() == "text/event-stream"
        body = b"" if is_stream else response.read()
        HEARD.append(Answer(line[:120].decode(errors="replace"), response.status, response.getheaders(), body))
        return HEARD[-1], not (is_stream or response.will_close)

    def say(self, request: bytes, source: str | None = None) -> Answer:
        """Asks over the connection that is open, if it was used a moment ago; from `source` over one of its own."""
        connection, self.kept = self.kept, None
        if connection and (source or time.monotonic() - self.kept_at > 5):
            connection = connection.close()
        connection = connection or self.connect(source)
        try:
            try:
                connection.sendall(request)
            except (BrokenPipeError, ConnectionResetError, ssl.SSLEOFError):
                pass  # It did not want to hear the rest; its answer says why.
            answer, goes_on = self.hear(connection, request)
        except BaseException:
            connection.close()
            raise
        if goes_on and not source:
            self.kept, self.kept_at = connection, time.monotonic()
        else:
            connection.close()
        return answer

    def ask(self, method: str, path: str, body: dict | bytes | None = None, *, source: str | None = None, **how) -> Answer:
        return self.say(self.request(method, path, body, **how), source)

    def begin(self, requests: list[bytes], source: str | None = None) -> list[ssl.SSLSocket]:
        """Holds back the last byte of each, so that all of them are complete at the same moment."""
        connections = [self.connect(source) for _ in requests]
        for connection, request in zip(connections, requests):
            connection.sendall(request[:-1])
        for connection, request in zip(connections, requests):
            connection.sendall(request[-1:])
        return connections

    def finish(self, connections: list[ssl.SSLSocket], requests: list[bytes]) -> list[Answer]:
        answers = [self.hear(connection, request)[0] for connection, request in zip(connections, requests)]
        for connection in connections:
            connection.close()
        return answers

    def follow(self, session: Session) -> Iterator[dict]:
        """The terminal's events: how it is now, then each change. Ends when the terminal ends the stream."""
        connection = self.connect()
        connection.sendall(self.request("GET", f"{API}/events", session=session))
        response = http.client.HTTPResponse(connection)
        with connection:
            response.begin()
            assert response.status == 200, response.status
            for line in response:
                if line.startswith(b"data: ") and b'"phase"' in line:
                    yield json.loads(line.removeprefix(b"data: "))

    def signed_in(self, answer: Answer) -> Session:
        """The session that a claim or a sign-in began."""
        cookie = re.match(r"__Host-till=([^;]*)", answer.header("Set-Cookie") or "")
        assert cookie, f"{answer} has no session"
        session = Session(cookie[1], answer.json["csrfToken"])
        SECRETS[f"session {len(SECRETS)}"] = session.cookie
        return session

    def sign_in(self, password: str) -> Session:
        return self.signed_in(self.ask("POST", f"{API}/login", {"password": password}))


# What a refusal is

SENTENCE = re.compile(r"[A-Z“][^\n\t]{4,240}[.!?]")
#: Words of the program, which nobody in a shop understands.
INTERNAL = re.compile(
    r"\b(nil|null|undefined|NaN|Optional|error:|\w+Error|exception|stack|trace|backtrace|fatal|assertion|abort\w*|Swift|"
    r"Foundation|Decod\w*|Codable|typeMismatch|keyNotFound|dataCorrupted|pars(er|ing|e)|unexpected|token at|"
    r"(line|column|byte|index|offset) \d+|errno|0x[0-9a-f]+|SQLite|SQL|GRDB|NIO|throws?|thrown|UInt\w*|Int64)\b|"
    r"\.swift|[{}\[\]<>]|::|\\u",
    re.IGNORECASE,
)


def check_words(reason: dict, where: str) -> None:
    assert re.fullmatch(r"[a-z][a-z0-9_]+", reason["code"]), f"no stable code: {where}"
    for part in ("message", "action"):
        assert SENTENCE.fullmatch(reason[part]), f"“{reason[part]}” is no sentence: {where}"
        assert not INTERNAL.search(reason[part]), f"“{reason[part]}” has words of the program: {where}"


def check_refused(answer: Answer, expected: str, field: str | None = None) -> None:
    """Asserts a refusal: `expected` is "STATUS code", or several with " or " between, at the field where there is one."""
    assert answer.status >= 400, f"accepted: {answer}"
    problem = answer.json
    check_words(problem, str(answer))
    for reason in problem.get("fields", {}).values():
        check_words(reason, str(answer))
    code = problem["code"]
    if field and answer.status == 422:
        # Each problem is said at its field; what the field is may also be said by the code.
        at_fields = problem.get("fields", {})
        assert field in at_fields or code.startswith(field), f"not said at the field {field}: {answer}"
        code = at_fields[field]["code"] if field in at_fields else code
    assert f"{answer.status} {code}" in expected.split(" or "), f"expected {expected}: {answer}"
    if answer.status == 429:
        assert int(answer.header("Retry-After")) >= 1, str(answer)


class Owner:
    """Who is signed in at the terminal, and sees what is stored."""

    def __init__(self, shop: Shop, terminal: Terminal, password: str, session: Session) -> None:
        self.shop, self.terminal, self.password, self.session = shop, terminal, password, session
        self.last = self.stored()
        self.first: tuple[bytes, bytes, bytes] | None = None
        #: Refused since it was last looked at what is stored.
        self.refused: list[Answer] = []
        self.ended = NO_CHARGE

    def ask(self, method: str, path: str, body: dict | bytes | None = None, **how) -> Answer:
        if method != "GET":
            self.look()  # What this one changes is no fault of those before.
        return self.tell(method, path, body, **how)

    def tell(self, method: str, path: str, body: dict | bytes | None = None, **how) -> Answer:
        answer = self.terminal.ask(method, path, body, **({"session": self.session} | how))
        if answer.status == 403 and b"proof_needed" in answer.body and "session" not in how:
            # On a slow machine the sign-in was more than ten minutes ago.
            proof = self.terminal.ask("POST", f"{API}/proof", {"password": self.password}, session=self.session)
            self.session = self.terminal.signed_in(proof)
            answer = self.terminal.ask(method, path, body, **({"session": self.session} | how))
        return answer

    def settings(self) -> dict:
        return self.ask("GET", f"{API}/settings").json

    def stored(self) -> tuple[bytes, bytes]:
        """Settings and charges, byte for byte. What the screen shows of a charge is not stored, so it is left out."""
        answers = [self.ask("GET", f"{API}{path}") for path in ("/settings", "/charges?limit=100", "/taps")]
        assert [answer.status for answer in answers] == [200] * 3, [str(answer) for answer in answers]
        return answers[0].body + answers[2].body, re.sub(rb'"onScreen":(true|false|null)', b"", answers[1].body)

    def payments(self) -> bytes:
        """Every payment that the gateway knows, with its story."""
        request = urllib.request.Request(
            f"{self.shop.gateway_url}/control/payments", headers={"Authorization": f"Bearer {self.shop.control_token}"}
        )
        with urllib.request.urlopen(request, timeout=PATIENCE_SECONDS) as response:
            return response.read()

    def refuses(self, expected: str, method: str, path: str, body: dict | bytes | None = None, field: str | None = None, **how):
        """Asserts that the terminal refuses it; that it stored nothing is seen a few refusals later."""
        answer = self.tell(method, path, body, **how)
        self.refused.append(answer)
        if answer.status < 400:
            self.tidy()
        elif len(self.refused) >= LOOK_AFTER:
            self.look()
        check_refused(answer, expected, field)

    def look(self) -> None:
        """Asserts that nothing is stored of what was refused since the last look."""
        refused, self.refused = self.refused, []
        if refused and self.stored() != self.last:
            self.tidy()
            raise AssertionError("refused but stored, one of these:\n" + "\n".join(str(answer) for answer in refused))

    def tidy(self) -> None:
        """Undoes what should never have been done, so that the next test finds a shop that works."""
        self.refused = []
        charge = self.ask("GET", f"{API}/charges/current")
        if charge.status == 200 and charge.json["holdsTerminal"]:
            self.ask("POST", f"{API}/charges/{charge.json['id']}/cancel", {})
            self.wait(lambda now: not (now["charge"] and now["charge"]["holdsTerminal"]))
        if self.first and self.last[0] != self.stored()[0]:
            self.ask("PUT", f"{API}/settings", self.form() | {"gatewayKey": self.shop.gateway_key})
        self.last = self.stored()

    def wait(self, condition) -> dict:
        """The first state of the terminal that fits."""
        for now in self.terminal.follow(self.session):
            if condition(now):
                return now
        raise AssertionError("the terminal ended its events")

    def form(self) -> dict:
        """The form of settings with which this shop works; with the key as long as none is stored."""
        current = self.settings()
        return {
            "operatorID": "operator-1", "merchantID": self.shop.merchant_id, "merchantName": MERCHANT_NAME,
            "gatewayURL": self.shop.gateway_url, "currency": "EUR", "locale": "en-US", "chargeLimitMinor": LIMIT_MINOR,
            "password": self.password,
        } | ({} if current["gatewayKeySet"] else {"gatewayKey": self.shop.gateway_key})

    def open(self, body: dict, key: str | None = None) -> Answer:
        return self.ask("POST", f"{API}/charges", body, headers={"Idempotency-Key": key or str(uuid.uuid4())})


# The story's places


@pytest.fixture(scope="session")
def terminal(shop):
    if not shop.state:
        raise SystemExit("refusals: no state directory. Run it with scripts/with-shop.")
    SECRETS.update({"the gateway's key": shop.gateway_key, "the owner's password": OWNER_PASSWORD})
    return Terminal(shop.url)


class Spare:
    """A second terminal, for what would keep the first one closed for a while."""

    def __init__(self, shop: Shop) -> None:
        state = shop.state / "spare"
        state.mkdir(mode=0o700)
        config = (shop.state / "till.yaml").read_text()
        config = config.replace(f"{shop.state}/terminal", f"{state}/terminal").replace("screen.png", "spare/screen.png")
        (state / "till.yaml").write_text(config)
        till = pathlib.Path(shop.wallet_command[0]).with_name("till")
        self.log = (state / "terminal.log").open("wb")
        self.process = subprocess.Popen(
            [till, "run", "--config", state / "till.yaml", "--announce", "-"], stdout=subprocess.PIPE, stderr=self.log, text=True
        )
        self.terminal = Terminal(self.next("listening")["url"])
        self.code = self.next("claim")["code"]

    def next(self, event: str) -> dict:
        """The next line that it announces of this kind."""
        for line in self.process.stdout:
            if (said := json.loads(line))["event"] == event:
                return said
        raise AssertionError(f"the spare terminal ended without {event}")

    def stop(self) -> None:
        self.process.terminate()
        self.process.wait(PATIENCE_SECONDS)
        self.log.close()


@pytest.fixture(scope="module")
def spare(shop, terminal):
    spare = Spare(shop)
    yield spare
    spare.stop()


@pytest.fixture(scope="module")
def claims(shop, terminal):
    """Two browsers claim at the same moment with the right code, each with a password of its own."""
    passwords = [f"{OWNER_PASSWORD} {number}" for number in range(2)]
    requests = [terminal.request("POST", f"{API}/claim", {"code": shop.claim_code, "password": password}) for password in passwords]
    return list(zip(passwords, terminal.finish(terminal.begin(requests), requests)))


@pytest.fixture(scope="module")
def owner(shop, terminal, claims):
    """Whoever won the claim."""
    password, answer = next((password, answer) for password, answer in claims if answer.status == 201)
    return Owner(shop, terminal, password, terminal.signed_in(answer))


@pytest.fixture(scope="module")
def open_shop(owner):
    """The shop after its set-up, with two charges that have ended. First it has a wrong key, so that one was replaced."""
    owner.tidy()
    form = owner.form()
    for key in (f"wcp_{CANARY}_replaced", owner.shop.gateway_key):
        answer = owner.ask("PUT", f"{API}/settings", form | {"gatewayKey": key})
        assert answer.status == 200, str(answer)
    for reference in ("Table 4", "Table 5"):
        answer = owner.open({"amountMinor": 1250, "currency": "EUR", "reference": reference})
        assert answer.status == 201, str(answer)
        # Not the one that is still on the screen.
        owner.ended = owner.ended if reference == "Table 5" else answer.json["id"]
        owner.wait(lambda now: now["charge"] and now["charge"]["state"] == "requiresAction")
        owner.tidy()
    owner.last = owner.stored()
    owner.first = (*owner.last, owner.payments())
    return owner


@pytest.fixture(scope="module")
def slow(open_shop):
    """Connections that never get to the end, running while everything else is tested."""
    terminal = open_shop.terminal
    charge = terminal.request(
        "POST", f"{API}/charges", {"amountMinor": 1, "reference": "a" * 35}, {"Idempotency-Key": "slow"}, open_shop.session
    )
    body = charge.index(b"\r\n\r\n") + 4
    slow = [
        Slow("handshake", lambda: socket.create_connection(terminal.address), b""),
        Slow("head", terminal.connect, b"GET / HTTP/1.1\r\nHost: "),
        Slow("body", terminal.connect, charge[:body], charge[body:]),
    ]
    for one in slow:
        one.start()
    return slow


class Slow(threading.Thread):
    """Sends a byte four times a second and notes when the terminal has had enough."""

    def __init__(self, name: str, connect, begin: bytes, drip: bytes = b"") -> None:
        super().__init__(name=name, daemon=True)
        self.open, self.begin, self.drip = connect, begin, drip
        self.seconds, self.answer = None, b""

    def run(self) -> None:
        start = time.monotonic()
        with self.open() as connection:
            drip = iter(self.drip)
            try:
                connection.sendall(self.begin)
                while time.monotonic() - start < PATIENCE_SECONDS:
                    # Waits for an answer or the end, a quarter of a second at most.
                    if select.select([connection], [], [], 0.25)[0]:
                        heard = connection.recv(4096)
                        self.answer += heard
                        if not heard:
                            break
                    elif self.begin and (byte := next(drip, ord("a") if not self.drip else None)) is not None:
                        connection.sendall(bytes([byte]))
                else:
                    return
            except OSError:
                pass  # Cut.
        self.seconds = time.monotonic() - start


# Bad values. Each row: what it is, the value, what is expected

TYPES = {"number": 12, "yes": True, "list": ["a"], "object": {"a": "b"}}
NO_TEXT = [(f"a {name}", value, "422 wrong_type") for name, value in TYPES.items()] + [
    ("a fraction", 1.5, "400 invalid_json or 422 wrong_type"),
]
CONTROLS = [
    (f"with {name}", f"a{character}b", "422 invalid_characters")
    for name, character in [
        ("NUL", "\0"), ("tab", "\t"), ("line feed", "\n"), ("escape", "\x1b"), ("delete", "\x7f"), ("C1 control", "\x85"),
    ]
]
SURROGATES = [
    ("a lone high surrogate", "a\ud800b", "400 invalid_json"),
    ("a lone low surrogate", "a\udc00b", "400 invalid_json"),
    ("surrogates the wrong way round", "\udc00\ud800", "400 invalid_json"),
]
#: For what is ASCII by nature. Some of them look like ASCII, or are equal to it for programs that compare by canon.
TRICKS = [
    ("bidi override", "a\u202eb"), ("bidi isolate", "a\u2066b"), ("right-to-left mark", "a\u200fb"),
    ("zero-width space", "a\u200bb"), ("zero-width joiner", "a\u200db"), ("byte-order mark", "\ufeffab"),
    ("soft hyphen", "a\u00adb"), ("fullwidth digits", "１２３"), ("Arabic digits", "١٢٣"), ("mathematical digits", "𝟏𝟐𝟑"),
    ("Cyrillic letter", "\u043eperator"), ("Kelvin sign", "a\u212ab"), ("combining mark", "a\u0301b"),
    ("tag character", "a\U000e0041b"), ("noncharacter", "a\uffffb"), ("private use", "a\ue000b"), ("line separator", "a\u2028b"),
]


#: Of these, what any script may have: it is shown as it is.
SHOWN = {"zero-width joiner", "fullwidth digits", "Arabic digits", "mathematical digits", "Cyrillic letter", "Kelvin sign", "combining mark"}


def tricks(expected: str) -> list[tuple]:
    return [(name, value, expected) for name, value in TRICKS]


def no_text(limit: int) -> list[tuple]:
    return [*NO_TEXT, *CONTROLS, *SURROGATES, (f"{limit + 1} long", "a" * (limit + 1), "422 too_long")]


@dataclass(frozen=True)
class Raw:
    """Stands in a body for JSON that Python would not write."""

    text: str


def encode(body: dict) -> bytes:
    """JSON in which a `Raw` value stands as it is."""
    members = ",".join(f"{json.dumps(name)}:{value.text if isinstance(value, Raw) else json.dumps(value)}" for name, value in body.items())
    return f"{{{members}}}".encode()


NO_INTEGER = [
    ("a text", "12", "422 wrong_type"), ("yes", True, "422 wrong_type"), ("a list", [1], "422 wrong_type"),
    ("an object", {}, "422 wrong_type"),
    ("a fraction", 12.5, "400 invalid_json or 422 wrong_type"),
    ("with a point", Raw("1000.0"), "400 invalid_json or 422 wrong_type"),
    ("with an exponent", Raw("1e3"), "400 invalid_json or 422 wrong_type"),
    ("one that a double would round", Raw("99999.00000000000000001"), "400 invalid_json or 422 wrong_type"),
    ("2^63", 2**63, "400 invalid_json or 422 wrong_type"), ("-2^63-1", -(2**63) - 1, "400 invalid_json or 422 wrong_type"),
    ("endless", Raw("1e999"), "400 invalid_json or 422 wrong_type"),
    ("fullwidth", Raw("１２"), "400 invalid_json"), ("octal", Raw("012"), "400 invalid_json"),
    ("hex", Raw("0x12"), "400 invalid_json"),
    ("signed", Raw("+12"), "400 invalid_json"), ("no number", Raw("NaN"), "400 invalid_json"),
]

IDENTIFIER = [
    ("nothing", "", "422 required"), ("null", None, "422 required"), ("65 long", "a" * 65, "422 too_long"), *no_text(200),
    ("a space", "a b", "422 invalid_characters"), ("markup", "<b>a</b>", "422 invalid_characters"),
    *tricks("422 invalid_characters"),
]

ADDRESS = [
    ("nothing", "", "422 required"), *no_text(500), ("201 long", "https://example.com/" + "a" * 181, "422 invalid_address"),
    *[
        (address, address, "422 invalid_address")
        for address in [
            "example.com", "//example.com", "ftp://127.0.0.1", "javascript:alert(1)", "data:text/html,a", "file:///etc/passwd",
            "http://example.com", "http://127.0.0.1@example.com", "http://localhost.example.com", "http://127.0.0.1.example.com",
            "https://", "https:///a", "https://me:secret@example.com", "https://example.com?a=b", "https://example.com#a",
            "https://example.com/../a", "https://example.com/%2e%2e/a", "https://example.com\\a", "https://example..com",
            "https://-example.com", "https://example.com:", "https://example.com:0", "https://example.com:65536",
            "https://example.com:1:2", "https://[::1]", "https://exa mple.com", f"https://{'a' * 64}.com",
        ]
    ],
    *[(f"host with {name}", f"https://{host}.com", "422 invalid_address") for name, host in TRICKS],
]
#: Not a URL by RFC 3986, or a port that is no number.
ODD_ADDRESS = [
    (address, address, "422 invalid_address")
    for address in ["https://example.com:+443", "https://example.com/{a}"]
]

KEY = [
    *no_text(500), ("257 long", "a" * 257, "422 invalid_characters"), ("a space", f"{CANARY} b", "422 invalid_characters"),
    *tricks("422 invalid_characters"),
]

CURRENCY = [
    *no_text(10),
    *[
        (f'"{code}"' if code.isascii() else name, code, "422 currency_unknown")
        for name, code in [
            ("", ""), ("", "eur"), ("", "EU"), ("", "EURO"), ("", "XXX"), ("", "978"), ("the sign", "€"), ("", " EUR"),
            ("", "EUR "),
            ("Cyrillic", "\u0415UR"), ("fullwidth", "ＥＵＲ"), ("bidi mark", "EUR\u200f"), ("zero-width", "E\u200bUR"),
            ("combining", "EUR\u0301"), ("Kelvin sign", "\u212aES"),
        ]
    ],
]

LOCALE = [
    *no_text(20),
    *[(f'"{tag}"', tag, "422 locale_unknown") for tag in ["", "en", "en_US", "EN-us", "xx-XX", "../../etc", "en-US\u200b", "\u0435n-US"]],
]

LIMIT = [
    *NO_INTEGER,
    *[(str(limit), limit, "422 limit_out_of_range") for limit in [0, -1, 10**12 + 1, 2**63 - 1, -(2**63)]],
]

HOURLY_LIMIT = [*LIMIT, ("below the charge limit", LIMIT_MINOR - 1, "422 limit_below_charge_limit")]

NAME = [
    ("nothing", "", "422 required"), ("spaces only", "  \u00a0\u3000", "422 required"), ("61 long", "a" * 61, "422 too_long"),
    *no_text(200),
    *[
        (name, value, "422 invalid_characters")
        for name, value in [
            ("bidi override", "Zoë\u202e)eihpS"), ("bidi isolate", "a\u2066b"), ("right-to-left mark", "a\u200fb"),
            ("zero-width space", "Z\u200boë"), ("byte-order mark", "\ufeffZoë"), ("soft hyphen", "Zo\u00adë"),
            ("tag character", "a\U000e0041b"), ("noncharacter", "a\uffffb"), ("private use", "a\ue000b"),
            ("line separator", "a\u2028b"),
            ("paragraph separator", "a\u2029b"),
        ]
    ],
    *[
        (name, value, "422 invalid_characters or 422 required")
        for name, value in [
            ("nothing but a joiner", "\u200d"), ("nothing but a Hangul filler", "\u3164"), ("nothing but blank Braille", "\u2800"),
            ("nothing but a combining mark", "\u0301"), ("nothing but a variation selector", "\ufe0f"),
            ("a tower of marks", "Z" + "\u0301" * 50),
        ]
    ],
]

TIME_ZONE = [
    (name, zone, "422 time_zone_unknown")
    for name, zone in [
        ("nowhere", "Mars/Base"), ("an abbreviation", "EST"), ("an offset", "GMT+1"), ("a path", "../../etc/localtime"),
        ("a path inside", "Europe/../Europe/Berlin"), ("a space", "Europe/ Berlin"),
    ]
]

VERSION = [
    *NO_INTEGER,
    *[(name, version, "409 settings_changed") for name, version in [("an older one", 0), ("one to come", 99), ("-1", -1)]],
]

AMOUNT_MINOR = [
    *NO_INTEGER,
    ("zero", 0, "422 amount_not_positive"), ("minus zero", Raw("-0"), "422 amount_not_positive"),
    ("-1", -1, "422 amount_negative"),
    ("the least there is", -(2**63), "422 amount_negative"), ("above the limit", LIMIT_MINOR + 1, "422 amount_above_limit"),
    ("the most there is", 2**63 - 1, "422 amount_above_limit"),
]

AMOUNT = [
    *no_text(40), ("nothing", "", "422 amount_missing"), ("spaces", "  ", "422 amount_missing"),
    *[(value, value, "422 amount_not_positive") for value in ["0", "0.00"]],
    *[(value, value, "422 amount_negative") for value in ["-5", "−5", "–5"]],
    *[
        (value, value, "422 amount_not_a_number")
        for value in [
            "abc", "1e3", "+5", "5-", "12.5.0", "1,2,3", "0x10", "€5", "5 EUR", "½", "5²", "五", "l2.5O", "Infinity", "NaN",
            "<b>5</b>",
        ]
    ],
    *[
        (name, value, "422 amount_not_a_number")
        for name, value in [
            ("bidi override", "12\u202e50"), ("bidi isolate", "\u206612.50"), ("right-to-left mark", "12\u200f.50"),
            ("zero-width space", "1\u200b2"),
            ("zero-width joiner", "1\u200d2"), ("byte-order mark", "\ufeff12"), ("combining mark", "1\u03012"),
            ("strike-through", "1\u03362"),
            ("Cyrillic O", "12.5\u041e"), ("one dot leader", "12\u202450"),
            ("tag digit", "1\U000e0032"),
            # A Bengali four looks like an eight.
            ("a homoglyph digit among others", "1\u09ea.50"), ("digits of two scripts", "1\u0662.50"),
            ("mathematical digits", "𝟏𝟐.𝟓𝟎"),
        ]
    ],
    ("too fine", "12.345678", "422 amount_too_fine"), ("two readings", "1.234", "422 amount_ambiguous"),
    ("above the limit", "1000.01", "422 amount_above_limit"), ("above what can be counted", "9" * 30, "422 amount_above_limit"),
]

CHARGE_CURRENCY = [
    *no_text(10),
    *[
        (f'"{code}"' if code.isascii() else name, code, "422 wrong_currency")
        for name, code in [
            ("", "USD"), ("", "JPY"), ("", "eur"), ("", ""), ("", "EUR "), ("the sign", "€"), ("Cyrillic", "\u0415UR"),
            ("fullwidth", "ＥＵＲ"),
            ("zero-width", "EU\u200bR"), ("bidi mark", "EUR\u200e"),
        ]
    ],
]

REFERENCE = [
    *no_text(200), ("36 long", "a" * 36, "422 invalid_reference"),
    *[row for row in tricks("422 invalid_reference") if row[0] not in SHOWN],
]

#: Of a note for staff, and of the reason for a refund.
NOTE = [*no_text(200), ("bidi override", "Zoë\u202e)eihpS", "422 invalid_note"), ("zero-width space", "a\u200bb", "422 invalid_note")]
TIP_MINOR = [*NO_INTEGER, ("below nothing", -1, "422 amount_negative"), ("where tips are off", 100, "422 tips_off")]

PASSWORD = [*no_text(1000)]


def rows(**fields: list[tuple]) -> list:
    """Fields and their bad values as the rows of a matrix."""
    return [
        pytest.param(field, value, expected, id=f"{field}, {name}")
        for field, table in fields.items()
        for name, value, expected in table
    ]


# Every route: method, path, and a body that it would take

ROUTES = {
    "session": ("GET", "/session", None),
    "claim": ("POST", "/claim", {"code": "AAAA-AAAA", "password": f"{CANARY} of a stranger"}),
    "login": ("POST", "/login", {"password": f"{CANARY} wrong"}),
    "logout": ("POST", "/logout", {}),
    "password": ("PUT", "/password", {"currentPassword": f"{CANARY} current", "newPassword": f"{CANARY} new"}),
    "reset": ("GET", "/reset", None),
    "refuse reset": ("DELETE", "/reset", {}),
    "proof": ("POST", "/proof", {"password": f"{CANARY} once more"}),
    "access": ("GET", "/access", None),
    "end access": ("POST", "/access/end", {"tokens": True}),
    "new password": ("PUT", "/reset", {"code": "AAAA-AAAA", "password": f"{CANARY} of a stranger"}),
    "sessions": ("GET", "/sessions", None),
    "end others": ("DELETE", "/sessions", {}),
    "end one": ("DELETE", "/sessions/000000000000", {}),
    "settings": ("GET", "/settings", None),
    "save": ("PUT", "/settings", {"operatorID": "operator-1"}),
    "test": ("POST", "/settings/test-connection", {"merchantID": "merchant-1"}),
    "charge": ("POST", "/charges", {"amountMinor": 1250, "currency": "EUR"}),
    "history": ("GET", "/charges", None),
    "totals": ("GET", "/totals", None),
    "export": ("GET", "/export.csv", None),
    "export as JSON": ("GET", "/export.json", None),
    "current": ("GET", "/charges/current", None),
    "one charge": ("GET", "/charges/{ended}", None),
    "cancel": ("POST", "/charges/{ended}/cancel", {}),
    "release": ("POST", "/charges/{ended}/release", {}),
    "seen": ("POST", "/charges/{ended}/seen", {}),
    "give back": ("POST", "/charges/{ended}/take-back", {}),
    "phones": ("GET", "/taps", None),
    "save phones": ("PUT", "/taps", {"offlineHours": 12}),
    "measurement": ("GET", "/taps/calibration", None),
    "measure": ("POST", "/taps/calibration", {"place": "inside", "mode": "near"}),
    "keep measurement": ("PUT", "/taps/calibration", {}),
    "stop measuring": ("DELETE", "/taps/calibration", {}),
    "wallets": ("GET", "/connect", None),
    "save wallets": ("PUT", "/connect", {"enabled": False}),
    "turn code": ("POST", "/charges/{ended}/code", {"code": "pairing"}),
    "customers": ("GET", "/customers", None),
    "save customers": ("PUT", "/customers", {"enabled": False}),
    "counter": ("GET", "/counter", None),
    "save counter": ("PUT", "/counter", {"tipMode": "none"}),
    "people": ("GET", "/people", None),
    "refund": ("POST", "/charges/{ended}/refund", {"reason": "cold"}),
    "refund again": ("PUT", "/charges/{ended}/refund", {}),
    "shifts": ("GET", "/shifts", None),
    "my shift": ("GET", "/shifts/current", None),
    "begin shift": ("POST", "/shifts", {}),
    "one shift": ("GET", "/shifts/1", None),
    "close shift": ("POST", "/shifts/1000/close", {}),
    "shift report": ("GET", "/shifts/1/report.csv", None),
    "tokens": ("GET", "/tokens", None),
    "make token": ("POST", "/tokens", {"name": "prometheus", "scopes": ["metrics"]}),
    "end token": ("DELETE", "/tokens/000000000000", {}),
    "outbox": ("GET", "/outbox", None),
    "save outbox": ("PUT", "/outbox", {"enabled": False}),
    "test outbox": ("POST", "/outbox/test", {}),
    "certificate": ("GET", "/certificate", None),
    "save certificate": ("PUT", "/certificate", {"chain": "none", "key": "none"}),
    "remove certificate": ("DELETE", "/certificate", {}),
    "webhooks": ("GET", "/webhooks", None),
    "make webhook": ("POST", "/webhooks", {"url": "https://shop.example/till", "events": ["succeeded"]}),
    "pause webhook": ("PUT", "/webhooks/000000000000", {"paused": True}),
    "end webhook": ("DELETE", "/webhooks/000000000000", {}),
    "test webhook": ("POST", "/webhooks/000000000000/test", {}),
    "days": ("GET", "/days", None),
    "one day": ("GET", "/days/2026-01-01", None),
    "compare": ("POST", "/days/2026-01-01/compare", {}),
    "events": ("GET", "/events", None),
    "lookup": ("GET", "/charges/lookup?key=none", None),
    "wait": ("GET", "/charges/{ended}?wait=1", None),
    "terminal": ("GET", "/terminal", None),
    "diagnosis": ("GET", "/diagnosis", None),
    "message": ("GET", "/screen", None),
    "show message": ("POST", "/screen", {"kind": "text", "title": "x"}),
    "one message": ("GET", "/screen/none", None),
    "answer": ("PUT", "/screen/none", {"answer": 0}),
    "take message": ("DELETE", "/screen/none", {}),
}
CHANGES = [name for name, (method, _, _) in ROUTES.items() if method != "GET"]
READS = [name for name in ROUTES if name not in CHANGES]
GUARDED = [name for name in ROUTES if name not in ("session", "claim", "login", "reset", "new password")]


def route(name: str, owner: Owner) -> tuple[str, str, dict | None]:
    method, path, body = ROUTES[name]
    if name in ("save", "test"):
        body = owner.form()
    return method, API + path.format(ended=owner.ended), body


# An unclaimed terminal


@pytest.mark.parametrize("name", GUARDED + ["login", "reset", "new password"])
def test_an_unclaimed_terminal_does_nothing(terminal, name):
    method, path, body = ROUTES[name]
    check_refused(terminal.ask(method, API + path.format(ended=NO_CHARGE), body), "403 not_claimed")


def test_an_unclaimed_terminal_tells_nobody_its_code(terminal, shop):
    for path in (f"{API}/session", "/", "/healthz", "/app/main.js"):
        answer = terminal.ask("GET", path)
        assert answer.status == 200, str(answer)
        for form in (shop.claim_code, shop.claim_code.replace("-", "")):
            assert form.encode() not in answer.body
    assert terminal.ask("GET", f"{API}/session").json["csrfToken"] is None


@pytest.mark.parametrize(
    "field, value, expected",
    rows(
        code=no_text(40),
        password=[
            *PASSWORD, ("short", "kite", "422 password_too_short"), ("nothing", "", "422 password_too_short"),
            ("null", None, "422 password_too_short"),
            ("short for the eye", "e\u0301" * 7, "422 password_too_short"),
            ("129 long", "kite " * 25 + "four", "422 password_too_long"),
            ("the first guess", "Password123", "422 password_too_common"), ("its own name", "Terminal1", "422 password_too_common"),
            ("one character", "a" * 20, "422 password_too_common"), ("a row of keys", "qwertyuiop", "422 password_too_common"),
        ],
    ),
)
def test_a_bad_claim_is_refused_at_its_field(terminal, shop, field, value, expected):
    """With the right code, so that the password alone stands in the way."""
    body = {"code": shop.claim_code, "password": "kite" if field == "code" else OWNER_PASSWORD} | {field: value}
    check_refused(terminal.ask("POST", f"{API}/claim", body), expected, field)


def test_wrong_codes_cost_their_sender_time_and_nobody_the_code(spare):
    """Codes that look like the one on the screen are wrong, after five of them that address waits, and the code stays."""
    code = spare.code
    wide = "".join(chr(ord(letter) + 0xFEE0) if letter.isalnum() else letter for letter in code)
    password = f"{OWNER_PASSWORD} elsewhere"
    for guess in (wide, f"\u202e{code}", f"{code[:2]}\u200b{code[2:]}", f"{code}\u0301", ""):
        check_refused(spare.terminal.ask("POST", f"{API}/claim", {"code": guess, "password": password}), "403 claim_code_wrong")
    check_refused(spare.terminal.ask("POST", f"{API}/claim", {"code": code, "password": password}), "429 too_many_tries")
    check_refused(spare.terminal.ask("POST", f"{API}/login", {"password": password}), "403 not_claimed")
    for number in range(1, 13):
        for _ in range(5):
            answer = spare.terminal.ask("POST", f"{API}/claim", {"code": "AAAA-AAAA", "password": password}, source=f"127.0.6.{number}")
            check_refused(answer, "403 claim_code_wrong")
    answer = spare.terminal.ask("POST", f"{API}/claim", {"code": code, "password": password}, source="127.0.7.1")
    assert answer.status == 201, "the one who reads the screen is let in"


# The claim


def test_of_claims_at_the_same_moment_exactly_one_wins(terminal, claims):
    winners = [answer for _, answer in claims if answer.status == 201]
    assert len(winners) == 1, [str(answer) for _, answer in claims]
    for _, answer in claims:
        if answer not in winners:
            check_refused(answer, "409 already_claimed")
            assert answer.header("Set-Cookie") is None


def test_who_lost_the_claim_has_no_password(terminal, claims):
    loser = next(password for password, answer in claims if answer.status != 201)
    check_refused(terminal.ask("POST", f"{API}/login", {"password": loser}, source="127.0.1.1"), "401 password_wrong")


def test_a_claim_code_is_single_use(owner, claims):
    for code in (owner.shop.claim_code, owner.shop.claim_code.lower().replace("-", "")):
        owner.refuses("409 already_claimed", "POST", f"{API}/claim", {"code": code, "password": OWNER_PASSWORD}, session=None)


def test_the_sessions_cookie_is_for_this_page_and_no_script(claims):
    winner = next(answer for _, answer in claims if answer.status == 201)
    (cookie,) = winner.all("Set-Cookie")
    value, *flags = [part.strip() for part in cookie.split(";")]
    assert re.fullmatch(r"__Host-till=[0-9a-f]{64}", value)
    assert sorted(flag.lower() for flag in flags) == ["httponly", "path=/", "samesite=strict", "secure"]


def test_no_charge_before_the_set_up(owner):
    answer = owner.open({"amountMinor": 1250})
    check_refused(answer, "409 not_set_up")
    assert owner.stored() == owner.last


# The first set-up. What was accepted once would make every later change of the gateway ask for the password, which takes
# the terminal most of a second: what a parser may let through by mistake comes last.

SETUP = rows(
    operatorID=IDENTIFIER, merchantID=IDENTIFIER, gatewayKey=[("nothing", "", "422 required"), ("null", None, "422 required"), *KEY],
    gatewayURL=ADDRESS, chargeLimitMinor=LIMIT, hourlyLimitMinor=HOURLY_LIMIT, locale=LOCALE, timeZone=TIME_ZONE, currency=CURRENCY, merchantName=NAME, password=PASSWORD, version=NO_INTEGER,
) + rows(gatewayURL=ODD_ADDRESS)


#: A form that is half filled can be tested.
MAY_BE_MISSING = ("operatorID", "merchantName", "currency", "locale")


@pytest.mark.parametrize("field, value, expected", [row for row in SETUP if row.values[0] not in MAY_BE_MISSING or row.values[1]])
def test_a_connection_test_with_one_bad_field_finds_it(owner, field, value, expected):
    """It may say so as a refusal or as its result; the next test asks which."""
    answer = owner.ask("POST", f"{API}/settings/test-connection", encode(owner.form() | {field: value}))
    assert owner.stored() == owner.last, f"stored: {answer}"
    if answer.status != 200:
        check_refused(answer, expected, field)
        return
    found = answer.json
    assert not found["ok"], f"found good: {answer}"
    check_words(found, str(answer))
    assert f"422 {found['code']}" in expected.split(" or "), f"expected {expected}: {answer}"


@pytest.mark.parametrize(
    "field, value, expected",
    [
        ("operatorID", "op 1!", "422 invalid_characters"), ("merchantID", "", "422 required"),
        ("merchantName", "\u202e", "422 invalid_characters"),
        ("gatewayURL", "ftp://a", "422 invalid_address"), ("gatewayKey", "a b", "422 invalid_characters"),
        ("currency", "eur", "422 currency_unknown"),
        ("locale", "x", "422 locale_unknown"), ("chargeLimitMinor", 0, "422 limit_out_of_range"),
    ],
)
def test_a_connection_test_of_a_bad_form_is_a_refusal(owner, field, value, expected):
    """As every other form's. That the gateway says no is a result; that the form is wrong is none."""
    owner.refuses(expected, "POST", f"{API}/settings/test-connection", owner.form() | {field: value}, field)


@pytest.mark.parametrize("field, value, expected", SETUP)
def test_a_set_up_with_one_bad_field_is_refused_at_that_field(owner, field, value, expected):
    owner.refuses(expected, "PUT", f"{API}/settings", encode(owner.form() | {field: value}), field)


def test_every_bad_field_is_marked_at_once(owner):
    bad = {
        "operatorID": "op 1!", "merchantID": "", "merchantName": "\u202e", "gatewayURL": "ftp://a", "currency": "eur",
        "locale": "x", "chargeLimitMinor": 0,
    }
    answer = owner.ask("PUT", f"{API}/settings", owner.form() | bad)
    check_refused(answer, "422 invalid_settings")
    assert set(answer.json["fields"]) == set(bad)
    assert owner.stored() == owner.last


def test_the_good_connection_is_found_good(owner):
    """So that the refusals above are about the bad field and nothing else."""
    form = owner.form() | {"gatewayKey": owner.shop.gateway_key}
    assert owner.ask("POST", f"{API}/settings/test-connection", form).json["code"] == "connected"


# The settings of a shop that is open


@pytest.mark.parametrize("field, value, expected", rows(version=VERSION))
def test_settings_that_somebody_else_changed_are_not_overwritten(open_shop, slow, field, value, expected):
    open_shop.refuses(expected, "PUT", f"{API}/settings", encode(open_shop.form() | {field: value}), field)


@pytest.mark.parametrize(
    "field, value",
    [("merchantID", "merchant-2"), ("gatewayURL", "https://example.com"), ("gatewayKey", f"wcp_{CANARY}_other")],
)
@pytest.mark.parametrize("password", [{}, {"password": ""}, {"password": None}])
def test_where_money_goes_changes_only_with_the_password(open_shop, field, value, password):
    form = open_shop.form() | {field: value}
    del form["password"]
    form |= password
    open_shop.refuses("422 password_needed", "PUT", f"{API}/settings", form, "password")


def test_a_wrong_password_in_the_settings_is_no_lost_session(open_shop):
    """401 tells the page that nobody is signed in any more; here somebody is, and the password field is wrong."""
    form = open_shop.form() | {"merchantID": "merchant-2", "password": f"{CANARY} wrong"}
    open_shop.refuses("422 password_wrong", "PUT", f"{API}/settings", form, "password", source="127.0.1.2")


def test_the_stored_key_is_not_sent_to_another_gateway(open_shop):
    """A stranger's listener hears of a test only where the key for it was typed."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        form = open_shop.form() | {"gatewayURL": f"http://127.0.0.1:{listener.getsockname()[1]}"}
        open_shop.refuses("422 required", "PUT", f"{API}/settings", form, "gatewayKey")
        answer = open_shop.ask("POST", f"{API}/settings/test-connection", form).json
        assert (answer["ok"], answer["code"]) == (False, "key_needed")
        check_words(answer, str(answer))
        assert not select.select([listener], [], [], 0)[0], "the terminal connected"

        def hang_up():
            listener.accept()[0].close()

        threading.Thread(target=hang_up, daemon=True).start()
        answer = open_shop.ask("POST", f"{API}/settings/test-connection", form | {"gatewayKey": f"wcp_{CANARY}_typed"}).json
        assert (answer["ok"], answer["code"]) == (False, "gateway_silent")
        check_words(answer, str(answer))


@pytest.mark.parametrize(
    "change, code",
    [
        ({"gatewayKey": f"wcp_{CANARY}_wrong"}, "gateway_"),
        ({"gatewayURL": "http://127.0.0.1:1", "gatewayKey": "wcp_a"}, "gateway_unreachable"),
        ({"gatewayURL": "https://127.0.0.1:1", "gatewayKey": "wcp_a"}, "gateway_unreachable"),
        ({"merchantID": "merchant-2"}, "gateway_"),
    ],
    ids=["wrong key", "nobody there", "nobody there with TLS", "wrong merchant"],
)
def test_a_connection_that_does_not_work_is_said_in_words(open_shop, change, code):
    answer = open_shop.ask("POST", f"{API}/settings/test-connection", open_shop.form() | change)
    assert answer.json["ok"] is False and answer.json["code"].startswith(code), str(answer)
    check_words(answer.json, str(answer))
    assert open_shop.stored() == open_shop.last


# Charges


@pytest.mark.parametrize(
    "field, value, expected", rows(amountMinor=AMOUNT_MINOR, amount=AMOUNT, currency=CHARGE_CURRENCY, reference=REFERENCE, note=NOTE, tipMinor=TIP_MINOR)
)
def test_a_bad_charge_is_refused_at_its_field(open_shop, slow, field, value, expected):
    body = {"currency": "EUR", "reference": "Table 4"} | ({} if field == "amount" else {"amountMinor": 1250}) | {field: value}
    open_shop.refuses(expected, "POST", f"{API}/charges", encode(body), field, headers={"Idempotency-Key": str(uuid.uuid4())})


def test_a_charge_without_an_amount_is_refused(open_shop):
    for body in ({}, {"currency": "EUR"}, {"amountMinor": None}, {"amount": None, "amountMinor": None}):
        open_shop.refuses("422 amount_missing", "POST", f"{API}/charges", body, "amount", headers={"Idempotency-Key": "none"})


def test_a_charge_with_two_amounts_is_refused_for_that(open_shop):
    """Nobody may be told that there is no amount where there are two."""
    answer = open_shop.open({"amount": "12.50", "amountMinor": 1250})
    assert answer.status == 422 and answer.json["code"] != "amount_missing", str(answer)
    assert open_shop.stored() == open_shop.last


@pytest.mark.parametrize(
    "keys",
    [None, "", " ", ["one", "two"], ["one", "one"], "a b", "a" * 256, "schlüssel", "１", b"\xff", "a\tb"],
    ids=["none", "empty", "space", "two", "one twice", "with a space", "256 long", "umlaut", "fullwidth", "bad UTF-8", "tab"],
)
def test_a_charge_needs_one_plain_key(open_shop, keys):
    code = "idempotency_key_missing" if keys is None else "idempotency_key_invalid"
    open_shop.refuses(f"400 {code}", "POST", f"{API}/charges", {"amountMinor": 1250}, headers={"Idempotency-Key": keys})


CHARGE_NAMES = {
    "no UUID": "nothing", "of another version": "01941f29-7c00-4000-8000-000000000001", "in capitals": NO_CHARGE.upper(),
    "too long": NO_CHARGE + "0", "too short": NO_CHARGE[:-1], "without dashes": NO_CHARGE.replace("-", ""), "unknown": NO_CHARGE,
    "fullwidth digit": NO_CHARGE[:-1] + urllib.parse.quote("１"), "bidi mark": NO_CHARGE + urllib.parse.quote("\u202e"),
    "zero-width": NO_CHARGE[:8] + urllib.parse.quote("\u200b") + NO_CHARGE[8:],
    "combining mark": NO_CHARGE + urllib.parse.quote("\u0301"),
    "space": NO_CHARGE + "%20", "quote": "'%20or%201=1", "4000 long": "a" * 4000,
}
BAD_ADDRESSES = {
    "NUL": NO_CHARGE + "%00", "line feed": NO_CHARGE + "%0a", "bad UTF-8": "%ff", "lone surrogate": "%ed%a0%80",
    "overlong": "%c0%ae",
    "hidden slash": "..%2fsettings", "hidden backslash": "a%5cb", "dots": "../settings", "hidden dots": "%2e%2e",
    "bad escape": "%zz",
}
CHARGE_ROWS = [pytest.param(name, "404 charge_not_found", id=what) for what, name in CHARGE_NAMES.items()] + [
    pytest.param(name, "400 bad_address", id=what) for what, name in BAD_ADDRESSES.items()
]


@pytest.mark.parametrize("method, end", [("GET", ""), ("POST", "/cancel"), ("POST", "/release"), ("POST", "/seen"), ("POST", "/take-back")])
@pytest.mark.parametrize("name, expected", CHARGE_ROWS)
def test_there_is_no_such_charge(open_shop, method, end, name, expected):
    open_shop.refuses(expected, method, f"{API}/charges/{name}{end}", None if method == "GET" else {})


@pytest.mark.parametrize("what", ["cancel", "release"])
def test_what_has_ended_cannot_end_again(open_shop, what):
    open_shop.refuses("409 already_ended", "POST", f"{API}/charges/{open_shop.ended}/{what}", {})


def test_what_was_not_paid_by_phone_is_not_given_back(open_shop):
    open_shop.refuses("409 nothing_to_give_back", "POST", f"{API}/charges/{open_shop.ended}/take-back", {})


# Payments from phones

YES_OR_NO = [("a word", "yes", "422 wrong_type"), ("a number", 1, "422 wrong_type"), ("a list", [True], "422 wrong_type")]
SIGNAL = [*NO_INTEGER, ("too strong", -19, "422 out_of_range"), ("too weak", -101, "422 out_of_range"), ("the most there is", 2**63 - 1, "422 out_of_range")]
# The last one is the service's own name.
CHARACTERISTIC = [
    *no_text(40), ("no UUID", "7d2b", "422 uuid_invalid"), ("the service", "7D2B0001-5C1E-4F0A-9B6D-3A8E41F7C2D9", "422 uuid_twice"),
]
PHONES = {
    "enabled": True, "acquirerURL": "https://acquirer.example", "acquirerLogin": "shop", "acquirerPassword": f"{CANARY} acquirer",
    "terminalID": "till-1",
}


def unknown_choice(limit: int) -> list[tuple]:
    return [*no_text(limit), ("nothing", "", "422 choice_unknown"), ("another", "far", "422 choice_unknown"), ("in capitals", "NEAR", "422 choice_unknown")]


def waiting_amount(code: str) -> list[tuple]:
    return [*NO_INTEGER, ("-1", -1, f"422 {code}"), ("the most there is", 2**63 - 1, f"422 {code}")]


@pytest.mark.parametrize(
    "field, value, expected",
    rows(
        enabled=YES_OR_NO, acceptUnknownSignal=YES_OR_NO, offlineAllowed=YES_OR_NO, mode=unknown_choice(20), tipMode=unknown_choice(20),
        tapThreshold=SIGNAL, nearThreshold=SIGNAL, openThreshold=SIGNAL, taggedThreshold=SIGNAL,
        tipMaximumPercent=[*NO_INTEGER, ("zero", 0, "422 out_of_range"), ("101", 101, "422 out_of_range")],
        tipPresets=[
            *no_text(100), ("a word", "5, ten", "422 presets_invalid"), ("zero", "0", "422 presets_invalid"),
            ("101", "101", "422 presets_invalid"), ("nine", "1,2,3,4,5,6,7,8,9", "422 presets_invalid"),
            ("fullwidth", "５", "422 presets_invalid"), ("a fraction", "7.5", "422 presets_invalid"),
        ],
        offlineHours=[*NO_INTEGER, ("zero", 0, "422 out_of_range"), ("73", 73, "422 out_of_range")],
        offlineFloorMinor=waiting_amount("out_of_range"), offlineTotalMinor=waiting_amount("limit_below_floor"),
        shortCodeAboveMinor=waiting_amount("out_of_range"),
        serviceUUID=[*no_text(40), ("nothing", "", "422 uuid_invalid"), ("no UUID", "7d2b", "422 uuid_invalid")],
        writeUUID=CHARACTERISTIC, statusUUID=CHARACTERISTIC, readUUID=CHARACTERISTIC,
        appLink=[
            *no_text(300), ("no address", "pay", "422 app_link_invalid"), ("not encrypted", "http://pay.example", "422 app_link_invalid"),
            ("a fragment", "https://pay.example/#a", "422 app_link_invalid"), ("201 long", "https://pay.example/" + "a" * 181, "422 app_link_invalid"),
        ],
        walletProjectID=[*no_text(100), ("65 long", "a" * 65, "422 project_invalid"), ("spaces", "a b", "422 project_invalid")],
        acquirerURL=ADDRESS, acquirerLogin=[*no_text(300), ("nothing", "", "422 required"), ("257 long", "a" * 257, "422 required")],
        acquirerPassword=[*no_text(500), ("nothing", "", "422 required"), ("null", None, "422 required")],
        terminalID=[*no_text(100), ("nothing", "", "422 required"), ("spaces", "my till", "422 required"), ("fullwidth", "ｔ", "422 required")],
        version=[*NO_INTEGER, ("one to come", 99, "409 settings_changed"), ("-1", -1, "409 settings_changed")],
    ),
)
def test_a_bad_setting_for_phones_is_refused_at_its_field(open_shop, field, value, expected):
    open_shop.refuses(expected, "PUT", f"{API}/taps", encode(PHONES | {field: value}), field)


LISTS = {
    "limit": [
        "0", "-1", "101", "99999999999999999999", "", "ten", "1.0", "1e1", "0x1", "%EF%BC%91", "%D9%A1", "5%E2%80%8F",
    ],
    "before": ["", "1", NO_CHARGE.upper(), NO_CHARGE[:-1] + "%EF%BC%91", "%E2%80%AE"],
    "rail": ["", "ble", "TAP"],
    "currency": ["", "eur", "EU", "XXX"],
    "from": ["", "yesterday", "2026-2-3", "2026-02-30", "20260203", "1999-12-31"],
    "to": ["", "2026-13-01"],
    "min": ["", "-1", "1.5", "99999999999999999999", "%D9%A1"],
    "max": ["", "x"],
    "by": [""],
    "q": ["", "x" * 101, "a%01b"],
    "after": ["", "1"],
    "cursor": ["x"],
    "state": ["", "paid", "SUCCEEDED", "succeeded%20", "succeeded%CC%81", "%F0%9D%90%AC", "succeeded,failed"],
    "order": ["up"],
    "Limit": ["1"],
    "%6Cimits": ["1"],
}


@pytest.mark.parametrize(
    "query, field", [(f"{name}={value}", name.replace("%6C", "l")) for name, values in LISTS.items() for value in values]
)
def test_a_list_that_cannot_be_asked_for_is_refused(open_shop, query, field):
    open_shop.refuses("422 invalid_query", "GET", f"{API}/charges?{query}", field=field)


@pytest.mark.parametrize(
    "path, field",
    [
        ("charges?from=2026-02-03&to=2026-02-02", "to"), ("charges?min=2&max=1", "max"),
        (f"charges?before={NO_CHARGE}&after={NO_CHARGE}", "after"), ("totals?by=year", "by"),
        ("totals?from=2026-02-03&to=2026-02-02", "to"), ("totals?from=2020-01-01&to=2026-02-02", "from"),
        ("totals?by=month&from=2020-01-01&to=2026-02-02", "from"), ("totals?from=today", "from"), ("totals?state=failed", "state"),
        ("shifts?from=2026-02-03&to=2026-02-02", "to"), ("shifts?from=today", "from"), ("shifts?limit=3", "limit"),
        ("export.csv?limit=5", "limit"), ("export.json?state=paid", "state"),
    ],
)
def test_a_total_or_a_file_that_cannot_be_asked_for_is_refused(open_shop, path, field):
    open_shop.refuses("422 invalid_query", "GET", f"{API}/{path}", field=field)


@pytest.mark.parametrize(
    "query",
    [
        "limit=1&limit=2", "limit=1&%6Cimit=2", "state=%00", "state=%ff", "state=%ed%a0%80", "state=%z",
        "&".join(f"a{number}=1" for number in range(65)),
    ],
)
def test_a_query_that_can_be_read_in_two_ways_is_refused(open_shop, query):
    open_shop.refuses("400 bad_address", "GET", f"{API}/charges?{query}")


# Bodies


def nested(opening: bytes, closing: bytes, depth: int):
    return lambda good: b'{"a":' + opening * depth + b"1" + closing * depth + b"}"


def utf16(good: dict) -> bytes:
    return json.dumps(good).encode("utf-16")


def twice(good: dict) -> bytes:
    name, value = next(iter(good.items()))
    return json.dumps(good)[:-1].encode() + f",{json.dumps(name)}:{json.dumps(value)}}}".encode()


def twice_by_escape(good: dict) -> bytes:
    name, value = next(iter(good.items()))
    return json.dumps(good)[:-1].encode() + f',"\\u{ord(name[0]):04x}{name[1:]}":{json.dumps(value)}}}'.encode()


def around(before: bytes = b"", after: bytes = b""):
    return lambda good: before + json.dumps(good).encode() + after


def instead(body: bytes):
    return lambda good: body


def within(member: bytes):
    """One member more, as bytes."""
    return lambda good: json.dumps(good)[:-1].encode() + (b"," if good else b"") + member + b"}"


BODIES = {
    "null": instead(b"null"), "list": instead(b"[]"), "number": instead(b"1"), "text": instead(b'"text"'), "spaces": instead(b"  "),
    "form": instead(b"amountMinor=1250&currency=EUR"), "XML": instead(b"<charge/>"),
    "cut off": lambda good: json.dumps(good).encode()[:-1],
    "no quotes": instead(b"{amountMinor:1250}"), "single quotes": instead(b"{'amountMinor':1250}"), "comment": around(b"/* a */"),
    "comma at the end": lambda good: json.dumps(good)[:-1].encode() + b",}", "garbage after it": around(b"", b"garbage"),
    "another after it": around(b"", b"{}"), "NUL before it": around(b"\0"), "NUL after it": around(b"", b"\0"),
    "vertical tab": around(b"\v"),
    "bad UTF-8": within(b'"a":"\xff"'), "overlong UTF-8": within(b'"a":"\xc0\xaf"'),
    "surrogate in UTF-8": within(b'"a":"\xed\xa0\x80"'),
    "cut UTF-8": within(b'"a":"\xe2\x82"'), "bad UTF-8 in a name": within(b'"\xff":1'),
    "lone surrogate in a name": within(b'"\\ud800":1'),
    "bad escape": within(b'"a":"\\x41"'), "line feed in a text": within(b'"a":"b\nc"'), "NUL in a text": within(b'"a":"b\0c"'),
    "50 lists deep": nested(b"[", b"]", 50), "NaN": within(b'"a":NaN'), "UTF-16": utf16,
    "5000 lists deep": nested(b"[", b"]", 5000), "5000 objects deep": nested(b'{"a":', b"}", 5000),
}
#: For these there has to be a member.
BODIES_WITH_MEMBERS = {"nothing": instead(b"")}
NAMED_TWICE = {"a name twice": twice, "a name twice by escape": twice_by_escape}
UNKNOWN_FIELDS = {
    "unknown": within(b'"tip":100'), "of another case": within(b'"AmountMinor":1'),
    "with a zero-width space": within('"\u200bamountMinor":1'.encode()),
    "without a name": within(b'"":1'), "prototype": within(b'"__proto__":{}'), "fraction": within(b'"a":1.5'),
    # Equal to gatewayKey and locale's neighbours for programs that compare by canon.
    "with a Kelvin sign": within('"gateway\u212aey":"wcp_a"'.encode()),
}


ADDRESSES = itertools.count(1)


def body_rows(tables: dict, expected: str, names: list[str]) -> list:
    return [pytest.param(name, make, expected, id=f"{name}, {what}") for name in names for what, make in tables.items()]


#: Signing out is tried below: each try costs a session.
WITH_BODIES = [name for name in CHANGES if name != "logout"]
WITH_MEMBERS = [name for name in CHANGES if ROUTES[name][2]]


@pytest.mark.parametrize(
    "name, make, expected",
    body_rows(BODIES, "400 invalid_json", WITH_BODIES)
    + body_rows(BODIES_WITH_MEMBERS, "400 invalid_json", WITH_MEMBERS)
    + body_rows(NAMED_TWICE, "400 duplicate_field", WITH_MEMBERS)
    + body_rows(UNKNOWN_FIELDS, "422 unknown_field", WITH_BODIES),
)
def test_a_bad_body_is_refused(open_shop, slow, name, make, expected):
    method, path, good = route(name, open_shop)
    # Each from an address of its own: a password that is read after all counts against its sender.
    source = f"127.0.2.{next(ADDRESSES)}" if name == "login" else None
    body = make(good)
    if name in STRANGERS and len(body) > longest_body(name):
        expected = "413 body_too_large"
    open_shop.refuses(expected, method, path, body, source=source, headers={"Idempotency-Key": str(uuid.uuid4())})


@pytest.mark.parametrize("name", ["claim", "login"])
def test_a_deep_body_of_a_stranger_does_not_hold_the_terminal_up(open_shop, name):
    """Three kilobytes. A reader whose work grows with the square of the depth takes seconds over it, and all have to wait."""
    method, path, _ = route(name, open_shop)
    terminal = open_shop.terminal
    request = terminal.request(method, path, b'{"a":[' + b",".join([b"[" * 500 + b"]" * 500] * 3) + b"]}")
    start = time.monotonic()
    connections = terminal.begin([request])
    assert terminal.ask("GET", "/healthz", source="127.0.4.1").status == 200
    waited = time.monotonic() - start
    check_refused(terminal.finish(connections, [request])[0], "400 invalid_json or 422 unknown_field")
    assert waited < 1, f"the others waited {waited:.1f} s"


@pytest.mark.parametrize(
    "make, expected",
    [(instead(b"null"), "400 invalid_json"), (within(b'"everywhere":true'), "422 unknown_field")],
    ids=["null", "unknown field"],
)
def test_a_bad_sign_out_is_refused(open_shop, make, expected):
    session = open_shop.terminal.sign_in(open_shop.password)
    open_shop.refuses(expected, "POST", f"{API}/logout", make({}), session=session)


@pytest.mark.parametrize("field, value, expected", rows(password=PASSWORD))
def test_a_bad_sign_in_is_refused_at_its_field(open_shop, field, value, expected):
    open_shop.refuses(expected, "POST", f"{API}/login", {field: value}, field, session=None)


CONTENT_TYPES = {
    "none": None, "empty": "", "text": "text/plain", "form": "application/x-www-form-urlencoded",
    "multipart": "multipart/form-data; boundary=a",
    "XML": "application/xml", "nearly": "application/jsonp", "JSON sequence": "application/json-seq",
    "two": ["application/json", "text/plain"],
    "one twice": ["application/json", "application/json"], "a list": "text/plain, application/json",
}


@pytest.mark.parametrize("name", CHANGES)
@pytest.mark.parametrize("kind", CONTENT_TYPES.values(), ids=CONTENT_TYPES.keys())
def test_what_is_not_marked_as_json_is_refused(open_shop, name, kind):
    method, path, body = route(name, open_shop)
    open_shop.refuses("415 content_type_wrong", method, path, body, headers={"Content-Type": kind, "Idempotency-Key": "type"})


#: Whoever sends these is not known yet.
STRANGERS = {"claim", "login", "new password"}


def longest_body(name: str) -> int:
    """What a route takes at most: of a stranger little, of wallets' pictures and certificates more than of the rest."""
    if name in STRANGERS:
        return 4 * 1024
    return {"save customers": 128, "save certificate": 96, "remove certificate": 96}.get(name, 64) * 1024


@pytest.mark.parametrize("name", CHANGES)
def test_a_body_that_is_too_large_is_refused_unread(open_shop, name):
    """Announced only: not a byte of it is sent."""
    method, path, _ = route(name, open_shop)
    open_shop.refuses("413 body_too_large", method, path, None, headers={"Content-Length": str(longest_body(name) + 1)})


def chunks(size: int) -> bytes:
    return b"".join(b"%x\r\n%s\r\n" % (len(part), part) for part in [b" " * 8000] * (size // 8000)) + b"0\r\n\r\n"


@pytest.mark.parametrize("name", CHANGES)
def test_a_body_that_turns_out_too_large_is_refused(open_shop, name):
    method, path, _ = route(name, open_shop)
    headers = {"Content-Length": None, "Transfer-Encoding": "chunked"}
    open_shop.refuses("413 body_too_large", method, path, chunks(longest_body(name) + 16_000), headers=headers)


def test_a_body_without_end_is_cut(open_shop):
    method, path, _ = route("charge", open_shop)
    headers = {"Content-Length": None, "Transfer-Encoding": "chunked"}
    with pytest.raises((http.client.HTTPException, OSError)):
        open_shop.ask(method, path, chunks(2_000_000), headers=headers)
    assert open_shop.stored() == open_shop.last


LENGTHS = {
    "two": {"Content-Length": ["2", "2"]}, "two that differ": {"Content-Length": ["2", "200"]},
    "both kinds": {"Transfer-Encoding": "chunked"},
    "chunked twice": {"Content-Length": None, "Transfer-Encoding": ["chunked", "chunked"]},
}


@pytest.mark.parametrize("headers", LENGTHS.values(), ids=LENGTHS.keys())
def test_a_length_that_can_be_read_in_two_ways_is_refused(open_shop, headers):
    method, path, _ = route("charge", open_shop)
    open_shop.refuses("400 ambiguous_length", method, path, b"{}", headers=headers)


def test_an_unknown_transfer_encoding_is_refused(open_shop):
    method, path, _ = route("charge", open_shop)
    open_shop.refuses("501 encoding_unknown", method, path, b"{}", headers={"Content-Length": None, "Transfer-Encoding": "gzip"})


# Who may ask

WRONG_ORIGINS = {
    "null": "null", "another": "https://evil.test", "plain HTTP": "http://{host}", "another port": "https://127.0.0.1:1",
    "without port": "https://127.0.0.1", "a longer name": "https://{host}.evil.test", "a user name": "https://{host}@evil.test",
    "a path": "https://{host}/", "two": ["https://{host}", "https://evil.test"], "another name of it": "https://localhost",
}
MISSING_ORIGINS = {"none": None, "empty": ""}


@pytest.mark.parametrize("origin", (MISSING_ORIGINS | WRONG_ORIGINS).values(), ids=(MISSING_ORIGINS | WRONG_ORIGINS).keys())
@pytest.mark.parametrize("name", CHANGES)
def test_a_change_from_another_page_is_refused(open_shop, name, origin):
    method, path, body = route(name, open_shop)
    host = open_shop.terminal.host
    filled = [one.format(host=host) for one in origin] if isinstance(origin, list) else origin and origin.format(host=host)
    open_shop.refuses("403 other_origin", method, path, body, headers={"Origin": filled, "Idempotency-Key": "origin"})


@pytest.mark.parametrize("origin", ["null", "https://evil.test"])
@pytest.mark.parametrize("name", READS)
def test_a_question_from_another_page_is_refused(open_shop, name, origin):
    method, path, body = route(name, open_shop)
    open_shop.refuses("403 other_origin", method, path, body, headers={"Origin": origin})


@pytest.mark.parametrize("site", ["cross-site", "same-site", "nonsense", ""])
@pytest.mark.parametrize("name", ROUTES)
def test_what_a_browser_sends_for_another_site_is_refused(open_shop, name, site):
    method, path, body = route(name, open_shop)
    open_shop.refuses("403 other_origin", method, path, body, headers={"Sec-Fetch-Site": site, "Idempotency-Key": "site"})


COOKIES = {
    "none": None, "empty": "__Host-till=", "forged": f"__Host-till={'0' * 64}", "too short": "__Host-till={cookie[:-1]}",
    "too long": "__Host-till={cookie}0",
    "in capitals": "__Host-till={upper}", "under another name": "till={cookie}", "with another prefix": "__Secure-till={cookie}",
    "in the wrong case": "__host-till={cookie}", "fullwidth": "__Host-till=" + "１" * 64,
}


@pytest.mark.parametrize("cookie", COOKIES.values(), ids=COOKIES.keys())
@pytest.mark.parametrize("name", GUARDED)
def test_without_a_session_nothing_is_done(open_shop, name, cookie):
    method, path, body = route(name, open_shop)
    real = open_shop.session.cookie
    if cookie:
        cookie = cookie.replace("{cookie[:-1]}", real[:-1]).replace("{cookie}", real).replace("{upper}", real.upper())
    open_shop.refuses("401 not_signed_in", method, path, body, headers={"Cookie": cookie, "Idempotency-Key": "cookie"})


def test_a_session_in_the_address_is_none(open_shop):
    for query in (f"session={open_shop.session.cookie}", f"__Host-till={open_shop.session.cookie}"):
        open_shop.refuses("401 not_signed_in", "GET", f"{API}/settings?{query}", session=None)


@pytest.fixture(scope="module")
def other(open_shop):
    """A second browser of the same owner."""
    return open_shop.terminal.sign_in(open_shop.password)


TOKENS = {
    "none": lambda mine, other: None, "empty": lambda mine, other: "", "forged": lambda mine, other: "0" * 64,
    "too short": lambda mine, other: mine.csrf[:-1], "too long": lambda mine, other: mine.csrf + "0",
    "in capitals": lambda mine, other: mine.csrf.upper(),
    "the cookie": lambda mine, other: mine.cookie, "of another session": lambda mine, other: other.csrf,
}


@pytest.mark.parametrize("token", TOKENS.values(), ids=TOKENS.keys())
@pytest.mark.parametrize("name", [name for name in CHANGES if name in GUARDED])
def test_a_change_without_the_pages_own_token_is_refused(open_shop, other, name, token):
    method, path, body = route(name, open_shop)
    headers = {"X-CSRF-Token": token(open_shop.session, other), "Idempotency-Key": "token"}
    open_shop.refuses("403 csrf_token_wrong", method, path, body, headers=headers)


HOSTS = {
    "another name": ("evil.test", "421 unknown_host"), "a longer name": ("127.0.0.1.evil.test", "421 unknown_host"),
    "another address": ("127.0.0.2", "421 unknown_host"), "a short address": ("127.1", "421 unknown_host"),
    "an address as a number": ("2130706433", "421 unknown_host"),
    "IPv6": ("[::1]", "421 unknown_host"), "none": (None, "400 bad_host"), "empty": ("", "400 bad_host"),
    "two": (["127.0.0.1", "127.0.0.1"], "400 bad_host"),
    "user name": ("a@127.0.0.1", "400 bad_host"), "list": ("127.0.0.1, evil.test", "400 bad_host"),
    "fullwidth": ("１２７.0.0.1", "400 bad_host"),
    "zero-width": ("127.0.0.1\u200b", "400 bad_host"), "bad UTF-8": (b"127.0.0.1\xff", "400 bad_host"),
    "port": ("127.0.0.1:http", "400 bad_host"),
    "long port": ("127.0.0.1:999999", "400 bad_host"),
}


@pytest.mark.parametrize("host, expected", HOSTS.values(), ids=HOSTS.keys())
@pytest.mark.parametrize("path", ["/", "/healthz", f"{API}/session", f"{API}/settings", f"{API}/events"])
def test_under_another_name_the_terminal_does_not_answer(open_shop, path, host, expected):
    """Against pages that point their own name at the terminal's address."""
    open_shop.refuses(expected, "GET", path, headers={"Host": host})


METHODS = {path: {method for method, at, _ in ROUTES.values() if at == path} for _, path, _ in ROUTES.values()}
WRONG_METHODS = [
    (method, path)
    for path, right in METHODS.items()
    for method in ["GET", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "HEAD"]
    if method not in right and not (method == "HEAD" and "GET" in right)
]


@pytest.mark.parametrize("method, path", WRONG_METHODS)
def test_a_wrong_method_is_refused(open_shop, method, path):
    path = API + path.format(ended=open_shop.ended)
    if method == "HEAD":
        assert open_shop.ask(method, path).status == 405
    else:
        open_shop.refuses("405 method_not_allowed", method, path, None if method == "GET" else b"{}")


def test_methods_that_are_not_for_pages_are_refused(open_shop):
    open_shop.refuses("405 method_not_allowed", "TRACE", f"{API}/session")
    open_shop.refuses("501 method_unknown", "BREW", f"{API}/session")
    open_shop.refuses("400 bad_address", "CONNECT", "127.0.0.1:443")
    for method in ("POST", "PUT", "DELETE"):
        open_shop.refuses("405 method_not_allowed", method, "/app/main.js")


NOWHERE = {
    "404 not_found": [
        "/api", "/api/", API, f"{API}/", f"{API}/nothing", "/api/v2/session", "/API/v1/session", f"{API}/charges/a/b", "/app",
        "/app/",
        "/.git/config", "/till.yaml",
    ],
    "400 bad_address": [
        "/..%2f..%2fetc/passwd", "/../etc/passwd", "/app/%2e%2e/x", "/app//main.js", "/%00", "/a%5cb", "/%ff", "/a#b", "*",
        "https://evil.test/", f"{API}/session%00x",
    ],
}


@pytest.mark.parametrize("path, expected", [(path, expected) for expected, paths in NOWHERE.items() for path in paths])
def test_there_is_nothing_at_this_address(open_shop, path, expected):
    open_shop.refuses(expected, "GET", path)


def test_a_head_that_is_too_large_is_refused(open_shop):
    open_shop.refuses("431 headers_too_large", "GET", f"{API}/session", headers={"X-Long": "a" * 9000})
    open_shop.refuses("431 headers_too_large", "GET", f"{API}/session", headers={f"X-{number}": "a" * 80 for number in range(100)})


@pytest.mark.parametrize("line", [b"X: a\0b", b"X: a\x01b", b"X : a", b"X: a\r\n folded", b"X(a): b", b"X: a\nY: b"], ids=repr)
def test_a_head_with_what_no_head_may_hold_is_refused(open_shop, line):
    good = open_shop.terminal.request("GET", f"{API}/session")
    bad = good.replace(b"\r\n\r\n", b"\r\n" + line + b"\r\n\r\n")
    check_refused(open_shop.terminal.say(bad), "400 bad_request")


#: The server's library answers these by itself, before the terminal sees a request: a page that is always the same.
NO_REQUESTS = {
    "HTTP/3": (b"GET / HTTP/3.0\r\nHost: a\r\n\r\n", 505), "HTTP/2": (b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", 505),
    "no version": (b"GET /\r\n\r\n", 400),
    "no colon": (b"GET / HTTP/1.1\r\nHost: a\r\nkite\r\n\r\n", 400),
    "endless head": (b"GET / HTTP/1.1\r\nX: " + b"a" * 60_000, 431),
    "endless address": (b"GET /" + b"a" * 60_000, 431),
    "bad chunk": (b"POST /api/v1/login HTTP/1.1\r\nHost: {host}\r\nOrigin: https://{host}\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\nkite\r\n\r\n", 400),
} | {
    f"length {length}": (b"POST /api/v1/login HTTP/1.1\r\nHost: {host}\r\nContent-Length: %s\r\n\r\n{}" % length.encode(), status)
    for length, status in [("2, 2", 400), ("+2", 400), ("-2", 400), ("0x2", 400), ("kite", 400), ("２", 400), ("9" * 23, 413)]
}


@pytest.mark.parametrize("request_bytes, status", NO_REQUESTS.values(), ids=NO_REQUESTS.keys())
def test_what_is_no_request_is_refused_without_a_word_of_it(open_shop, request_bytes, status):
    terminal = open_shop.terminal
    answer = terminal.say(request_bytes.replace(b"{host}", terminal.host.encode()))
    HEARD.remove(answer)
    assert answer.status == status and answer.header("Connection") == "close", str(answer)
    assert b"kite" not in answer.body and b"aaaa" not in answer.body


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_only_modern_tls_is_spoken(open_shop):
    terminal = open_shop.terminal
    for version in (ssl.TLSVersion.TLSv1, ssl.TLSVersion.TLSv1_1, ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3):
        tls = any_certificate()
        tls.set_ciphers("ALL:@SECLEVEL=0")
        tls.minimum_version = tls.maximum_version = version
        if version >= ssl.TLSVersion.TLSv1_2:
            terminal.connect(tls=tls).close()
        else:
            # The refusal is the terminal's: it hangs up on what was offered.
            with pytest.raises(ssl.SSLError, match="(?i)alert|eof"):
                terminal.connect(tls=tls)
    with socket.create_connection(terminal.address, PATIENCE_SECONDS) as plain:
        plain.sendall(terminal.request("GET", f"{API}/session"))
        # Whoever left the s away is told the way, and nothing of the terminal.
        said = plain.recv(4096)
        assert said.startswith(b"HTTP/1.1 403 ") and b'"code":"https_needed"' in said, said


# Guessing and leaving


def test_guessing_is_slowed_down_and_does_not_keep_the_owner_out(open_shop):
    """While three guesses are looked at, a fourth and even the right password from there have to wait; the owner has not."""
    terminal, source = open_shop.terminal, "127.0.3.1"
    guesses = [terminal.request("POST", f"{API}/login", {"password": f"{CANARY} guess {number}"}) for number in range(3)]
    connections = terminal.begin(guesses, source)
    for password in (f"{CANARY} guess 4", open_shop.password):
        check_refused(terminal.ask("POST", f"{API}/login", {"password": password}, source=source), "429 too_many_tries")
    for answer in terminal.finish(connections, guesses):
        check_refused(answer, "401 password_wrong")
    assert terminal.sign_in(open_shop.password).cookie


def test_a_sign_in_takes_no_session_that_was_there_before(open_shop):
    fixed = "f" * 64
    answer = open_shop.terminal.ask("POST", f"{API}/login", {"password": open_shop.password}, headers={"Cookie": f"__Host-till={fixed}"})
    session = open_shop.terminal.signed_in(answer)
    assert session.cookie not in (fixed, open_shop.session.cookie)
    open_shop.refuses("401 not_signed_in", "GET", f"{API}/settings", headers={"Cookie": f"__Host-till={fixed}"})


def test_signing_out_ends_the_session_at_the_terminal(open_shop, other):
    """The old cookie opens nothing, with its token neither."""
    answer = open_shop.ask("POST", f"{API}/logout", {}, session=other)
    assert answer.status == 200 and answer.json["signedIn"] is False and answer.json["csrfToken"] is None
    assert re.fullmatch(r"__Host-till=; Path=/; Max-Age=0; Secure; HttpOnly; SameSite=Strict", answer.header("Set-Cookie"))
    for name in GUARDED:
        method, path, body = route(name, open_shop)
        open_shop.refuses("401 not_signed_in", method, path, body, session=other, headers={"Idempotency-Key": "left"})
    said = open_shop.ask("GET", f"{API}/session", session=other).json
    assert (said["signedIn"], said["merchantName"], said["csrfToken"]) == (False, None, None)
    assert open_shop.ask("GET", f"{API}/session").json["signedIn"], "the other browser is still signed in"


# After all of it


def test_slow_requests_are_cut(open_shop, slow):
    for one in slow:
        one.join(PATIENCE_SECONDS)
        assert one.seconds is not None and one.seconds < 20, f"slow {one.name} was heard for {one.seconds} s"
        assert b"HTTP/1.1 2" not in one.answer
    open_shop.look()
    assert open_shop.stored() == open_shop.last


def test_nothing_was_stored(open_shop):
    open_shop.look()
    settings, charges, payments = open_shop.first
    now = open_shop.stored()
    assert now[0] == settings, "the settings are not what they were"
    opened = now[1].count(b'"createdAt"') - charges.count(b'"createdAt"')
    assert now[1] == charges, f"the charges are not what they were: {opened} more"
    assert open_shop.payments() == payments, "the gateway has payments that nobody asked for"


def test_a_good_charge_is_taken_once_and_paid(open_shop):
    key = str(uuid.uuid4())
    body = {"amountMinor": LIMIT_MINOR, "currency": "EUR", "reference": "/-:.,+ Table 4"}
    opened = open_shop.open(body, key)
    assert opened.status == 201, str(opened)
    charge = opened.json
    assert open_shop.open(body, key).json["id"] == charge["id"], "the same key is the same charge"
    check_refused(open_shop.open(body | {"amountMinor": 1}, key), "409 idempotency_conflict")
    busy = open_shop.open(body)
    check_refused(busy, "409 busy")
    assert busy.json["chargeID"] == charge["id"]
    check_refused(open_shop.ask("POST", f"{API}/charges/{charge['id']}/release", {}), "409 still_open")
    waiting = open_shop.wait(lambda now: now["charge"] and now["charge"]["link"])
    open_shop.shop.pay(waiting["charge"]["link"])
    paid = open_shop.wait(lambda now: now["charge"] and now["charge"]["state"] == "succeeded")["charge"]
    assert (paid["id"], paid["amountMinor"], paid["currency"], paid["reference"]) == (charge["id"], LIMIT_MINOR, "EUR", body["reference"])
    check_refused(open_shop.ask("POST", f"{API}/charges/{charge['id']}/cancel", {}), "409 already_paid")


def test_an_event_stream_says_no_more_once_its_session_has_ended(open_shop):
    session = open_shop.terminal.sign_in(open_shop.password)
    events = open_shop.terminal.follow(session)
    assert next(events)["phase"]
    assert open_shop.ask("POST", f"{API}/logout", {}, session=session).status == 200
    assert open_shop.open({"amountMinor": 1250}).status == 201
    assert list(events) == []
    open_shop.tidy()


def test_every_answer_carries_the_headers_that_protect_the_page(open_shop):
    assert len(HEARD) > 1000
    wanted = {
        "X-Content-Type-Options": {"nosniff"}, "Referrer-Policy": {"no-referrer"}, "Cross-Origin-Opener-Policy": {"same-origin"},
        "Cross-Origin-Resource-Policy": {"same-origin"},
    }
    missing: dict[str, set[str]] = {}
    for answer in HEARD:
        method, _, rest = answer.asked.partition(" ")
        path = rest.partition(" ")[0]
        faults = [name for name, values in wanted.items() if set(answer.all(name)) != values]
        policy = dict(part.split(None, 1) for part in (answer.header("Content-Security-Policy") or "").split("; ") if part)
        if {name: policy.get(name) for name in ("default-src", "script-src", "frame-ancestors", "base-uri", "form-action")} != {
            "default-src": "'none'", "script-src": "'self'", "frame-ancestors": "'none'", "base-uri": "'none'",
            "form-action": "'self'",
        } or any("unsafe" in value or "*" in value for value in policy.values()):
            faults.append("Content-Security-Policy")
        if path.startswith("/api") and answer.all("Cache-Control") != ["no-store"]:
            faults.append("Cache-Control")
        faults += [name for name in ("Server", "X-Powered-By", "Access-Control-Allow-Origin") if answer.header(name)]
        for fault in faults:
            missing.setdefault(f"{fault} of {answer.status} answers", set()).add(f"{method} {path[:60]}")
    assert not missing, "\n".join(f"{fault}: {', '.join(sorted(asked)[:4])} … {len(asked)} in all" for fault, asked in missing.items())


def written_as(secret: str) -> set[bytes]:
    """A secret's bytes as text, UTF-16, hexadecimal, numbers, percent-encoded, and Base64 wherever it may begin."""
    data = secret.encode()
    ways = {data, secret.encode("utf-16-le"), data.hex().encode(), data.hex().upper().encode(), ",".join(map(str, data)).encode()}
    ways |= {urllib.parse.quote(secret).encode(), urllib.parse.quote_plus(secret).encode(), json.dumps(secret)[1:-1].encode()}
    for offset in range(3):
        coded = base64.b64encode(b"\0" * offset + data)[(offset * 8 + 5) // 6:(offset + len(data)) * 8 // 6]
        ways |= {coded, coded.translate(bytes.maketrans(b"+/", b"-_"))}
    return ways


def test_a_secret_is_found_however_it_is_written():
    """The next test can find what it looks for."""
    secret = "canary & co/+?>~"
    data = secret.encode()
    for text in (b"a " + data, base64.b64encode(b"ab" + data + b"c"), base64.urlsafe_b64encode(b"a" + data), data.hex().encode()):
        assert any(way in text for way in written_as(secret)), text
    assert not any(way in b"can ary" for way in written_as(secret))


def test_no_secret_is_in_any_answer_log_or_file(open_shop, spare, shop):
    """Passwords, gateway keys and sessions. A session's one place is the cookie that gives it."""
    needles = {way: what for what, secret in SECRETS.items() for way in written_as(secret)}
    assert len(SECRETS) >= 6
    found = []
    for answer in HEARD:
        heads = "\n".join(f"{name}: {value}" for name, value in answer.headers if name != "Set-Cookie")
        found += [f"{what} in the answer to {answer.asked}" for way, what in needles.items() if way in answer.body or way in heads.encode()]
    logs = [shop.state / "terminal.log", shop.state / "spare/terminal.log"]
    files = [path for folder in ("terminal", "spare/terminal") for path in (shop.state / folder).rglob("*") if path.is_file()]
    assert len(files) >= 4, files
    for path in [*logs, *files]:
        data = path.read_bytes()
        assert data, f"{path.name} is empty"
        found += [f"{what} in {path.name}" for way, what in needles.items() if way in data]
    for log in logs:
        text = log.read_bytes()
        found += [f"a claim code in {log.name}" for code in (shop.claim_code, spare.code) if code.encode() in text]
    assert not found, "\n".join(sorted(set(found)))


@pytest.mark.parametrize(
    "field, value, expected",
    rows(
        currentPassword=[*PASSWORD, ("wrong", f"{CANARY} wrong", "422 password_wrong"), ("nothing", "", "422 password_wrong")],
        newPassword=[
            *PASSWORD, ("short", "kite", "422 password_too_short"), ("null", None, "422 password_too_short"),
            ("the 3000th guess", "usmc0311", "422 password_too_common"),
        ],
        signOutOthers=[("a word", "yes", "422 wrong_type"), ("a number", 1, "422 wrong_type")],
    ),
)
def test_a_bad_change_of_password_is_refused_at_its_field(open_shop, field, value, expected):
    body = {"currentPassword": open_shop.password, "newPassword": f"{OWNER_PASSWORD} new", "signOutOthers": False} | {field: value}
    source = f"127.0.4.{next(SOURCES)}"
    check_refused(open_shop.ask("PUT", f"{API}/password", body, source=source), expected, field)
    assert open_shop.terminal.sign_in(open_shop.password).cookie, "the password is what it was"


SOURCES = itertools.count(1)


def test_a_reset_without_a_code_on_the_screen_is_refused(open_shop):
    body = {"code": "AAAA-AAAA", "password": f"{OWNER_PASSWORD} stolen"}
    check_refused(open_shop.ask("PUT", f"{API}/reset", body, session=None), "409 reset_not_running")


def test_a_session_that_is_not_there_cannot_be_ended(open_shop):
    for name in ("000000000000", open_shop.session.cookie[:12], "%2e%2e"):
        check_refused(open_shop.ask("DELETE", f"{API}/sessions/{name}"), "404 session_not_found or 400 bad_address")


def test_bad_input_is_no_trouble_of_the_terminal(open_shop, shop):
    log = (shop.state / "terminal.log").read_text()
    assert "charge opened" in log
    assert not [line for line in log.splitlines() if re.search(r"^\S+ (error|critical) |^Fatal", line)]


if __name__ == "__main__":
    sys.exit(pytest.main([str(pathlib.Path(__file__)), "-q", "-s", "--tb=short", "-p", "no:cacheprovider", *sys.argv[1:]]))
