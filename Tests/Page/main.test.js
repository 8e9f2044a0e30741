// The program of the page begins when it is imported: each test has it in a page of its own.

import { clock, ownPage, streams, terminal } from "./fakes.js";
import { afterwards, equal, settled, test } from "./harness.js";

const OWNER = { claimed: true, signedIn: true, setUp: true, role: "owner", csrfToken: "t", currency: "EUR", currencyExponent: 2, locale: "en-US", merchantName: "Café", tips: { mode: "none" }, charge: null };
const NOBODY = { claimed: true, signedIn: false, setUp: true };

/** The page as it is opened at this address, before a terminal that says `session`. */
async function opened(session, hash = "") {
  sessionStorage.clear();
  localStorage.clear();
  const page = await ownPage({ hash });
  const all = { ...page, time: clock(undefined, page.world), streams: streams(page.world), session, answers: {} };
  all.asked = terminal((question) => {
    const { method, path } = question;
    const own = all.answers[`${method} ${path.split("?")[0]}`];
    if (own) return typeof own === "function" ? own(question) : own;
    return path === "/session" ? { body: all.session } : path.startsWith("/charges?") ? { body: { charges: [] } } : { body: "" };
  }, page.world);
  afterwards(() => sessionStorage.clear());
  await page.start("/app/main.js");
  all.until = async (look) => {
    while (!look()) await settled();
    return look();
  };
  all.find = (selector) => page.document.querySelector(selector);
  all.go = async (address) => {
    page.world.location.hash = address;
    // The event comes in its own time.
    await new Promise((resolve) => page.world.addEventListener("hashchange", resolve, { once: true }));
    await settled();
  };
  await all.until(() => all.find("#page").childElementCount > 0);
  return all;
}

test("A terminal without an owner is claimed, whatever the address says", async () => {
  const page = await opened({ claimed: false }, "#/settings");
  equal([page.find("[name=code]") === null, page.find(".nav")], [false, null]);
});

test("The code that was scanned fills the form and leaves the address at once, with the fingerprint to compare", async () => {
  const page = await opened({ claimed: false }, `#claim=ABCD-1234&cert=${"_".repeat(42)}8`);
  equal([page.find("[name=code]").value, page.world.location.hash], ["ABCD-1234", ""]);
  equal(page.find(".fingerprint code").textContent, Array(32).fill("FF").join(":"));
});

test("A fingerprint that is none is not shown", async () => {
  const page = await opened({ claimed: false }, "#claim=ABCD-1234&cert=short");
  equal(page.find(".fingerprint"), null);
});

test("Who is not signed in signs in, and at a counter says who it is", async () => {
  equal((await opened(NOBODY)).find("input[autocomplete=current-password]") === null, false);
  equal((await opened({ ...NOBODY, browser: "counter", people: [{ id: "a", name: "Ada", role: "cashier" }] })).find(".person-name").textContent, "Ada");
});

test("Who is signed in charges, and an address that does not exist leads there as well", async () => {
  for (const hash of ["", "#/charge", "#/no-such-page", "#/../x", "#/history/%E0%A4%A"]) {
    const page = await opened(OWNER, hash);
    equal([hash, page.find(".keypad") === null], [hash, hash.startsWith("#/history")]);
    equal([hash, page.streams.length], [hash, 1]);
  }
});

test("A set-up that was left is gone on with", async () => {
  const page = await opened({ ...OWNER, setUpState: "open" });
  equal([page.find(".keypad"), page.asked.some(({ path }) => path === "/charges?limit=6")], [null, true]);
});

test("Where the terminal does not answer that is said, and tried again every three seconds", async () => {
  const page = await opened(null);
  equal(page.asked.filter(({ path }) => path === "/session").length, 1);
  page.session = OWNER;
  await page.time.advance(3_000);
  await page.until(() => page.find(".keypad"));
  equal(page.find(".nav") === null, false);
});

test("A session that ends leads to the sign-in and keeps what was typed for whoever comes back", async () => {
  const page = await opened(OWNER);
  for (const key of "1250") page.document.body.dispatchEvent(new page.world.KeyboardEvent("keydown", { key, bubbles: true }));
  page.answers["GET /charges"] = { status: 401, body: { code: "signed_out", message: "No." } };
  page.session = NOBODY;
  page.streams[0].says("terminal", { phase: "idle", charge: null, at: "" });
  await page.until(() => page.find("input[autocomplete=current-password]"));
  equal([page.streams[0].isOpen, sessionStorage.getItem("till.draft").includes("1250")], [false, true]);
});

test("Signing out leaves nothing behind", async () => {
  const page = await opened(OWNER);
  for (const key of "1250") page.document.body.dispatchEvent(new page.world.KeyboardEvent("keydown", { key, bubbles: true }));
  sessionStorage.setItem("till.followed", "7");
  page.session = NOBODY;
  page.find(".sign-out").click();
  await page.until(() => page.find("input[autocomplete=current-password]"));
  equal([sessionStorage.length, page.streams[0].isOpen, page.asked.some(({ method, path }) => `${method} ${path}` === "POST /logout")], [0, false, true]);
});

test("Who signed out is out, also where the terminal does not answer any more", async () => {
  const page = await opened(OWNER);
  page.find(".sign-out").click();
  page.answers["GET /session"] = () => { throw new TypeError("Failed to fetch"); };
  await page.until(() => page.asked.filter(({ path }) => path === "/session").length === 2);
  await settled();
  equal([page.find(".keypad"), page.find("input[autocomplete=current-password]") === null, page.streams[0].isOpen], [null, false, false]);
});

test("A sign-out that did not arrive is said: whoever is there is still signed in", async () => {
  const page = await opened(OWNER);
  page.answers["POST /logout"] = () => { throw new TypeError("Failed to fetch"); };
  page.find(".sign-out").click();
  await page.until(() => page.find(".toast"));
  equal([page.find(".keypad") === null, page.streams[0].isOpen], [false, true]);
});

test("The address leads from page to page, and the way to it is marked", async () => {
  const page = await opened(OWNER);
  await page.go("#/history");
  equal([page.find(".keypad"), page.find("a[data-place=history]").getAttribute("aria-current")], [null, "page"]);
  await page.go("#/charge");
  equal(page.find(".keypad") === null, false);
});

test("A question that was asked on a page does not stay open on the next", async () => {
  const page = await opened(OWNER);
  page.find(".look-button").click();
  equal(page.find("dialog[open]") === null, false);
  await page.go("#/history");
  equal(page.find("dialog[open]"), null);
});
