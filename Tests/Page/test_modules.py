"""Unit tests of the page's modules in a headless browser. Each test that a *.test.js file declares is one pytest test."""

import functools
import json
import os
import re
import sys
import threading
from collections.abc import Callable
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import quote

import pytest
from playwright.sync_api import Error, sync_playwright

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent
PUBLIC = ROOT / "Public"
CHROMIUM = os.environ.get("TILL_CHROMIUM", "/usr/bin/chromium")
MODULES = sorted(HERE.glob("*.test.js"))


def facts() -> dict:
    """Facts of the terminal's sources that the page has to agree with: currencies, decimal signs, roles, typed amounts."""
    currency = (ROOT / "Sources/Payments/Currency.swift").read_text()
    exponents = dict(re.findall(r'"([A-Z]{3})": (\d)', currency))
    codes = re.findall(r'"([A-Z]{3})"', currency[currency.index("activeCodes: Set<String> = ["):])
    formats = (ROOT / "Sources/Payments/AmountFormat.swift").read_text()
    route = (ROOT / "Sources/Console/Route.swift").read_text()
    roles = route[route.index("var roles: Set<Role>"):route.index("var isOpen")]
    allowed = {}
    for cases, names in re.findall(r"case ((?:\.\w+,?\s*)+):\s*\[([.\w, ]*)\]", re.sub(r"//.*", "", roles)):
        allowed |= {case: re.findall(r"\.(\w+)", names) for case in re.findall(r"\.(\w+)", cases)}
    return {
        "exponents": {code: int(exponents.get(code, 2)) for code in codes},
        **amount_formats(formats),
        "roles": allowed,
        **typed_amounts(),
    }


def amount_formats(source: str) -> dict:
    """How the terminal writes amounts: `formats` by locale as the page has them, and the `signs` of currencies."""
    text = lambda swift: re.sub(r"\\u\{(\w+)\}", lambda code: chr(int(code.group(1), 16)), swift)
    rows = re.findall(r'AmountFormat\("([\w-]+)", decimal: "(.)", group: "([^"]+)", first: (\w+), space: (\w+)\)', source)
    signs = source[source.index("symbols: [String: String] = ["):]
    return {
        "formats": {locale: [decimal, text(group), first == "true", space == "true"] for locale, decimal, group, first, space in rows},
        "signs": dict(re.findall(r'"([A-Z]{3})": "([^"]+)"', signs)),
    }


def typed_amounts() -> dict:
    """Cases of the terminal's own tests: `read` as `[typed, currency, locale, minor units]`, and `refused`."""
    source = (ROOT / "Tests/PaymentsTests/MoneyTests.swift").read_text()
    source = source[:source.index("whatIsWrittenCanBeReadBack")]
    text = lambda swift: re.sub(r"\\u\{(\w+)\}", lambda code: chr(int(code.group(1), 16)), swift)
    found = re.findall(r'\("([^"]*)", "([A-Z]{3})", "([\w-]+)", (?:([\d_]+)|(?:AmountError)?\.(\w+)(?:\(.*?\))?)\)', source)
    return {
        "read": [[text(typed), code, locale, minor.replace("_", "")] for typed, code, locale, minor, _ in found if minor],
        # Zero is refused by the terminal as a charge; a field of the page may hold it.
        "refused": [[text(typed), code, locale] for typed, code, locale, _, why in found if why and why != "zero"],
    }


class Site(SimpleHTTPRequestHandler):
    """Serves `Public`, the tests below /tests, and index.html without program and sheets at /."""

    protocol_version = "HTTP/1.1"
    extensions_map = {".js": "text/javascript"}

    def do_GET(self) -> None:
        if self.path == "/":
            frame = re.sub(r"<link [^>]*>|<script .*?</script>", "", (PUBLIC / "index.html").read_text())
            self.answer(frame, "text/html; charset=utf-8")
        elif self.path == "/facts.json":
            self.answer(self.server.facts, "application/json")
        elif self.path.startswith("/tests/"):
            self.directory, self.path = str(HERE), self.path.removeprefix("/tests")
            super().do_GET()
        else:
            self.directory = str(PUBLIC)
            super().do_GET()

    def answer(self, text: str, kind: str) -> None:
        content = text.encode()
        self.send_response(200)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, *_) -> None:
        pass


class Server(ThreadingHTTPServer):
    """Says nothing of connections that a closed frame leaves behind."""

    daemon_threads = True
    facts = ""

    def handle_error(self, *_) -> None:
        if not isinstance(sys.exception(), ConnectionError):
            super().handle_error(*_)


class Bench:
    """The server, and a browser with one page for each test module."""

    def __init__(self) -> None:
        self.server = Server(("127.0.0.1", 0), Site)
        self.server.facts = json.dumps(facts())
        threading.Thread(target=self.server.serve_forever, daemon=True).start()
        self.address = f"http://127.0.0.1:{self.server.server_port}"
        self.playwright = sync_playwright().start()
        self.browser = self.playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        # One context: one for each module takes twice as long. Tests remove what they store.
        self.context = self.browser.new_context(locale="en-US", timezone_id="Europe/Berlin")
        self.pages = {}
        self.front = None

    def close(self) -> None:
        self.browser.close()
        self.playwright.stop()
        self.server.shutdown()
        self.server.server_close()

    def declared(self, module: str) -> list[str]:
        """Imports a test module into a page of its own and returns the names of its tests. `module` is an address."""
        page = self.context.new_page()
        self.pages[module] = page
        page.goto(self.address)
        return page.evaluate(
            """async (module) => {
                const { close, inTime } = await import("/tests/harness.js");
                await inTime(import(module));
                return close();
            }""",
            module,
        )

    def run(self, module: str, name: str) -> list[str]:
        """Runs one test and returns its failures."""
        page = self.pages[module]
        if page is not self.front:
            # A background page draws no frames, so that each wait for one takes a second.
            page.bring_to_front()
            self.front = page
        return page.evaluate('async (name) => (await import("/tests/harness.js")).run(name)', name)


@functools.cache
def bench_of(config: pytest.Config) -> Bench:
    bench = Bench()
    config.add_cleanup(bench.close)
    return bench


def promises(bench: Bench, module: str) -> list[tuple[str, Callable[[], list[str]]]]:
    """Name and function of each test. A module without tests, or with an error at import, is one test that fails."""
    try:
        names = bench.declared(module)
    except Error as error:
        return [("can be imported", functools.partial(list, [str(error)]))]
    return [(name, functools.partial(bench.run, module, name)) for name in names] or [("has tests", lambda: ["declares no test"])]


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if "promise" in metafunc.fixturenames:
        bench = bench_of(metafunc.config)
        cases = [(path, *case) for path in MODULES for case in promises(bench, f"/tests/{path.name}")]
        metafunc.parametrize(
            "promise", [pytest.param(run, id=f"{path.name.removesuffix('.test.js')}: {name}") for path, name, run in cases]
        )


def test_page(promise: Callable[[], list[str]]) -> None:
    if problems := promise():
        pytest.fail("\n\n".join(problems), pytrace=False)


#: Test modules that must not pass, by their fault.
BROKEN = {
    "throws when it is imported": 'throw new Error("no")',
    "declares nothing": "",
    "declares one name twice": 'test("a", () => equal(1, 1)); test("a", () => equal(1, 1));',
    "finds another value": 'test("a", () => equal({ a: ["12.5"] }, { a: ["12.05"] }));',
    "takes a space for another": 'test("a", () => equal("1 €", "1\\u00a0€"));',
    "asserts nothing": 'test("a", () => {});',
    "finds no error": 'test("a", () => throws(() => {}));',
    "forgets to wait": 'test("a", () => { throws(async () => {}); });',
    "loses a failure": 'test("a", () => { equal(1, 1); Promise.reject(new Error("lost")); });',
    "fails in a listener": 'test("a", () => { equal(1, 1); addEventListener("x", () => equal(1, 2)); dispatchEvent(new Event("x")); });',
    "declares a test that never runs": 'test("a", () => { equal(1, 1); test("b", () => equal(1, 1)); });',
    "declares a test after a while": 'test("a", () => equal(1, 1)); setTimeout(() => test("b", () => equal(1, 1)));',
    "asks somebody": 'test("a", () => { equal(1, 1); fetch("/api/v1/session"); });',
    "has words missing": 'test("a", () => { equal(1, 1); console.error("no words for x"); });',
    "cannot take back what it changed": 'test("a", () => { equal(1, 1); afterwards(() => { throw new Error("no"); }); });',
}


@pytest.mark.parametrize("source", BROKEN.values(), ids=BROKEN.keys())
def test_a_module_fails_that(source: str, request: pytest.FixtureRequest) -> None:
    bench = bench_of(request.config)
    head = f'import {{ afterwards, equal, test, throws }} from "{bench.address}/tests/harness.js";'
    found = promises(bench, f"data:text/javascript,{quote(head + source)}")
    assert any(run() for _, run in found)


def test_every_module_of_the_page_has_tests() -> None:
    tested = {path.name.removesuffix(".test.js") for path in MODULES}
    assert {path.stem for path in (PUBLIC / "app").glob("*.js")} - tested == set()
