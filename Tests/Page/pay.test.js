// The customer's own page: a program for a page that is whole without it.

import { clock, ownPage } from "./fakes.js";
import { equal, replace, settled, test } from "./harness.js";

/** What the terminal says of the payment. `seconds`: time left; `again`: when it wants to be asked next; `isOver`: how it ended. */
function main({ title = "Pay with your wallet", version = "1", again = 3, seconds = null, isOver = false, more = "" } = {}) {
  return `<main id="pay" data-version="${version}" data-again="${again}"${isOver ? " data-over" : ""}><section><h1>${title}</h1></section>` +
    `<ul><li><a class="wallet" href="https://wallet.example/pay">Wallet</a></li></ul>${more}` +
    `${seconds === null ? "" : `<p><b id="left" data-seconds="${seconds}">?</b></p>`}</main>`;
}

const html = (inner, title = "€12.50 · Café") => `<!doctype html><title>${title}</title>${inner}`;

/** The customer's phone with this page, whose clock stands; `said` is what the terminal answers from now on. */
async function phone(first = main({ seconds: 300 })) {
  const page = await ownPage({ body: `${first}<p id="heard"></p><p id="lost" hidden></p><p id="ended" hidden></p>` });
  const all = { ...page, asked: [], said: { body: html(first) }, scrolled: 0 };
  all.time = clock(undefined, page.world);
  replace(page.world, "scrollTo", () => { all.scrolled += 1; });
  replace(page.world, "fetch", async (address, options) => {
    all.asked.push({ at: all.time.now, address, ...options });
    const { status = 200, body = "", headers = {} } = await (typeof all.said === "function" ? all.said() : all.said);
    return { ok: status < 300 && status >= 200, status, headers: new Headers(headers), text: async () => body };
  });
  await page.start("/app/pay.js");
  all.get = (id) => page.document.getElementById(id);
  all.title = () => all.get("pay").querySelector("h1").textContent;
  return all;
}

const silence = () => { throw new TypeError("Failed to fetch"); };

test("The terminal is asked as often as it wants, and mostly whether something is new", async () => {
  const { time, asked } = await phone();
  await time.advance(15_000);
  equal(asked.map(({ at }) => at), [3_000, 6_000, 9_000, 12_000, 15_000]);
  equal(asked.map(({ headers }) => headers["If-None-Match"] ?? null), ["\"1\"", "\"1\"", "\"1\"", "\"1\"", null]);
  equal([asked[0].address, asked[0].credentials, asked[0].redirect, asked[0].cache], ["/", "omit", "error", "no-store"]);
});

test("The seconds left run by themselves and end at nothing", async () => {
  const { time, get } = await phone(main({ seconds: 62, again: 0 }));
  await time.advance(500);
  equal(get("left").textContent, "1:02");
  await time.advance(2_500);
  equal(get("left").textContent, "0:59");
  await time.advance(90_000);
  equal(get("left").textContent, "0:00");
});

test("News is shown, heard and scrolled to", async () => {
  const all = await phone();
  all.said = { body: html(main({ title: "Paid", version: "2", again: 10 }), "Paid · Café") };
  await all.time.advance(3_000);
  equal([all.title(), all.get("heard").textContent, all.document.title, all.scrolled], ["Paid", "Paid", "Paid · Café", 1]);
  await all.time.advance(10_000);
  equal(all.asked.length, 2);
});

test("What has not changed stays as it is, for a finger that is on it, and only the seconds are set right", async () => {
  const all = await phone();
  const link = all.document.querySelector(".wallet");
  all.said = { body: html(main({ seconds: 30, again: 5 })) };
  await all.time.advance(3_000);
  equal([all.document.querySelector(".wallet") === link, all.get("left").textContent, all.get("heard").textContent], [true, "0:30", ""]);
  await all.time.advance(5_000);
  equal(all.asked.length, 2);
});

test("The focus and an open code stay where they were when something around them changes", async () => {
  const second = "<details id=\"second\"><summary>Code</summary></details>";
  const all = await phone(main({ more: second }));
  all.document.querySelector(".wallet").focus();
  all.get("second").open = true;
  all.said = { body: html(main({ version: "2", more: second })) };
  await all.time.advance(3_000);
  equal([all.document.activeElement.className, all.get("second").open, all.scrolled], ["wallet", true, 0]);
});

test("A terminal that does not answer is said so, until it does", async () => {
  const all = await phone();
  for (const said of [silence, { status: 500 }, { status: 200, body: "<p>Another network's page" }]) {
    all.said = said;
    await all.time.advance(3_000);
    equal(all.get("lost").hidden, false);
    all.said = { status: 304 };
    await all.time.advance(3_000);
    equal(all.get("lost").hidden, true);
  }
});

test("A terminal that wants fewer questions gets fewer", async () => {
  const all = await phone();
  all.said = { status: 429, headers: { "Retry-After": "30" } };
  await all.time.advance(3_000);
  all.said = { status: 304 };
  await all.time.advance(29_000);
  equal(all.asked.length, 1);
  await all.time.advance(1_000);
  equal(all.asked.length, 2);
});

test("When the link is void, how the payment ended stays to be read", async () => {
  const all = await phone(main({ title: "Paid", isOver: true }));
  all.said = { status: 404, body: html(main({ title: "Nothing here", version: "404" }), "Nothing here") };
  await all.time.advance(60_000);
  equal([all.title(), all.get("ended").hidden, all.asked.length], ["Paid", false, 1]);
});

test("When the link is void, what was still open is not shown as open", async () => {
  const all = await phone();
  all.said = { status: 404, body: html(main({ title: "Nothing here", version: "404", again: 0 }), "Nothing here") };
  await all.time.advance(60_000);
  equal([all.title(), all.document.title, all.document.querySelector("#left"), all.asked.length], ["Nothing here", "Nothing here", null, 1]);
});

test("Nothing asks for a page that nobody looks at, and who comes back from the wallet is told at once", async () => {
  const all = await phone();
  replace(all.document, "visibilityState", "hidden");
  await all.time.advance(60_000);
  equal(all.asked.length, 1);
  delete all.document.visibilityState;
  all.document.dispatchEvent(new Event("visibilitychange"));
  await settled();
  equal([all.asked.length, all.asked[1].headers], [2, {}]);
});

test("Where nothing more will be said, nothing is asked", async () => {
  const all = await phone(main({ again: 0 }));
  all.world.dispatchEvent(new Event("online"));
  await all.time.advance(60_000);
  equal(all.asked.length, 0);
});
