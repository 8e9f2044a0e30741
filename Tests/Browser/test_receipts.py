"""Receipts at the terminal's web page: their settings, a charge's receipt on paper, in a tab, as a document and as text.

One story, in order, in a real browser against a real terminal with a printer on a real socket. Needs a fresh shop:
`scripts/with-shop python Tests/Browser/test_receipts.py`; TILL_SHOTS names a folder for pictures. Read by Poppler's
`pdftotext` and `pdffonts`.
"""

import pathlib
import socket
import subprocess
import sys
import threading

import pytest
from playwright.sync_api import expect

from shopfloor import small_targets
from steps import charges, current_charge, error_of, open_charge, panel, save_well, set_up

HOSTILE = '<b>"Zoë"</b> متجر 日本 & Co'


class Printer:
    """Takes one job a connection; answers how its paper is when it is asked, as the command set says."""

    def __init__(self) -> None:
        self.jobs: list[bytes] = []
        self.arrived = threading.Semaphore(0)
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.address = f"127.0.0.1:{self._listener.getsockname()[1]}"
        threading.Thread(target=self._serve, daemon=True).start()

    def _serve(self) -> None:
        while True:
            try:
                peer, _ = self._listener.accept()
            except OSError:
                return
            job = b""
            with peer:
                while piece := peer.recv(4096):
                    job += piece
                    if job.endswith(b"\x1dr\x01"):
                        peer.sendall(b"\x00")
            self.jobs.append(job)
            self.arrived.release()

    def next(self) -> bytes:
        assert self.arrived.acquire(timeout=20), "the printer got nothing"
        return self.jobs[-1]

    def close(self) -> None:
        if self._listener.fileno() < 0:
            return
        self._listener.shutdown(socket.SHUT_RDWR)  # Closing alone leaves it to the thread that waits for connections.
        self._listener.close()


@pytest.fixture(scope="module")
def printer():
    printer = Printer()
    yield printer
    printer.close()


@pytest.fixture(scope="module", autouse=True)
def shop_is_set_up(page, shop):
    set_up(page, shop)


def field(page, name: str):
    return page.locator(f".settings-form [name={name}]")


def pay(page, shop, amount: str = "12.50", reference: str = "") -> dict:
    """A charge that was paid, with its own page open."""
    open_charge(page, amount, reference)
    shop.pay(current_charge(page)["link"])
    expect(panel(page, "succeeded")).to_be_visible()
    charge = charges(page)[0]
    page.get_by_role("button", name="New charge").click()
    page.goto(f"/#/history/{charge['id']}")
    expect(page.get_by_role("heading", name="Receipt")).to_be_visible()
    return charge


def receipt(page, charge: dict, form: str) -> str:
    return page.evaluate("(path) => fetch(path).then((answer) => answer.text())", f"/api/v1/charges/{charge['id']}/receipt?format={form}")


def test_without_a_printer_the_page_says_what_else_there_is(page, shop, eyes):
    charge = pay(page, shop, reference="Table 4")
    page.locator(".receipt-part").get_by_role("button", name="Print").click()
    expect(page.locator(".receipt-part .notice-bad")).to_contain_text("has no receipt printer")
    assert "PAID" in receipt(page, charge, "text")
    assert small_targets(page) == []
    eyes.look(page, "receipt-no-printer")


def test_the_owner_sets_up_a_printer_and_tries_it(page, eyes, printer):
    page.goto("/#/settings")
    page.get_by_role("link", name="Receipts").click()
    expect(field(page, "printer")).to_be_visible()
    expect(page.get_by_role("button", name="Test print")).to_be_hidden()
    field(page, "printer").fill("/etc/passwd")
    page.get_by_role("button", name="Save").click()
    expect(field(page, "printer")).to_have_attribute("aria-invalid", "true")
    assert "no printer" in error_of(page, field(page, "printer"))
    field(page, "printer").fill(printer.address)
    field(page, "columns").select_option("42")
    field(page, "header").fill("Marktplatz 5, Wien\nVAT ATU12345678\n")
    field(page, "footer").fill(HOSTILE)
    field(page, "terminal").fill("Bar")
    save_well(page)
    expect(field(page, "header")).to_have_value("Marktplatz 5, Wien\nVAT ATU12345678")
    page.get_by_role("button", name="Test print").click()
    job = printer.next()
    assert b"TEST" in job and b"not a receipt" in job and job.startswith(b"\x1b@")
    expect(page.locator(".toast").last).to_contain_text("Printed.")
    assert small_targets(page) == []
    eyes.look(page, "receipt-settings")


def test_a_receipt_comes_on_paper_in_a_tab_and_as_text(page, context, shop, eyes, printer):
    context.grant_permissions(["clipboard-read", "clipboard-write"], origin=shop.url)
    charge = pay(page, shop, "8.40", "Table 5")
    part = page.locator(".receipt-part")
    for copy in (False, True):
        part.get_by_role("button", name="Print").click()
        job = printer.next()
        assert b"PAID" in job and b"Table 5" in job and (b"COPY" in job) == copy
        expect(page.locator(".toast").last).to_contain_text("Printed.")
        page.locator(".toast").last.wait_for(state="detached")
    part.get_by_role("button", name="Copy as text").click()
    expect(page.locator(".toast").last).to_contain_text("Copied")
    text = page.evaluate("() => navigator.clipboard.readText()")
    assert "PAID" in text and "€8.40" in text and "Marktplatz 5" in text and "COPY" in text
    eyes.look(page, "receipt-part")
    with context.expect_page() as opened:
        part.get_by_role("link", name="Open").click()
    tab = opened.value
    expect(tab.get_by_text("PAID", exact=True)).to_be_visible()
    expect(tab.locator(".receipt")).to_contain_text(HOSTILE)
    assert tab.locator("b").count() == 0
    eyes.look(tab, "receipt-tab")
    assert tab.pdf(prefer_css_page_size=True).startswith(b"%PDF")  # The print style sheet holds.
    tab.close()


def test_the_document_is_read_by_another_program(page, shop, tmp_path):
    charge = charges(page)[0]
    answer = page.request.get(f"/api/v1/charges/{charge['id']}/receipt?format=pdf")
    assert answer.ok and answer.headers["content-type"] == "application/pdf"
    file = tmp_path / "receipt.pdf"
    file.write_bytes(answer.body())
    words = subprocess.run(["pdftotext", "-layout", file, "-"], check=True, capture_output=True, text=True).stdout
    for fact in ("Café Zoë", "PAID", "€8.40", "Table 5", charge["id"], "Marktplatz 5, Wien"):
        assert fact in words, fact
    fonts = subprocess.run(["pdffonts", file], check=True, capture_output=True, text=True).stdout.splitlines()[2:]
    assert fonts and all(" yes yes yes " in line for line in fonts), fonts  # Embedded, a subset, with its letters' names.


def test_a_receipt_is_printed_by_itself_where_the_owner_wants_it(page, shop, printer):
    page.goto("/#/receipts")
    field(page, "automatic").check()
    save_well(page)
    before = len(printer.jobs)
    charge = pay(page, shop, "3.00", "Table 6")
    job = printer.next()
    assert b"Table 6" in job and b"COPY" not in job and len(printer.jobs) == before + 1
    assert "COPY" in receipt(page, charge, "text")


def test_a_printer_that_is_gone_takes_nothing_from_the_payment(page, context, shop, printer, eyes):
    page.goto("/#/receipts")
    field(page, "automatic").uncheck()
    field(page, "footer").fill("Thank you!")
    save_well(page)
    printer.close()
    charge = pay(page, shop, "5.00")
    page.locator(".receipt-part").get_by_role("button", name="Print").click()
    expect(page.locator(".receipt-part .notice-bad")).to_contain_text("Nothing was printed; the payment is as it was.")
    assert next(found for found in charges(page) if found["id"] == charge["id"])["state"] == "succeeded"
    assert "COPY" not in receipt(page, charge, "text")
    eyes.look(page, "receipt-printer-gone")
    with context.expect_page() as opened:
        page.locator(".receipt-part").get_by_role("link", name="Open").click()
    eyes.look(opened.value, "receipt-first")


if __name__ == "__main__":
    sys.exit(pytest.main([str(pathlib.Path(__file__)), "-q", "-s", "--tb=short", "-p", "no:cacheprovider", *sys.argv[1:]]))
