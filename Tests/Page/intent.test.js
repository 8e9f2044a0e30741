import * as api from "/app/api.js";
import { begin, end, pending, send, settleWith } from "/app/intent.js";
import { useLanguage } from "/app/strings.js";
import { clock, terminal } from "./fakes.js";
import { afterwards, equal, settled, test, throws } from "./harness.js";

await useLanguage(["en"]);

/** An intent of 12.50, kept until the test is over. */
function wanted(more = {}) {
  afterwards(end);
  return begin({ amountMinor: 1250, currency: "EUR", reference: "", note: "", tipMinor: null, ...more });
}

const silence = () => { throw new TypeError("Failed to fetch"); };
const alone = { onRetry: () => {}, isOver: () => false };

test("Each press of the button has a key of its own", () => {
  const [one, other] = [wanted(), wanted()];
  equal([one.key === other.key, /^[0-9a-f-]{36}$/.test(one.key), pending().key === other.key], [false, true, true]);
});

test("What the cashier wants charged outlasts a reload, with its key", () => {
  const intent = wanted({ reference: "Table 7", note: "no onions", tipMinor: 125 });
  equal(pending(), intent);
});

test("The terminal is asked for what was typed, and for no field that is empty", async () => {
  const asked = terminal(() => ({ body: { id: "7" } }));
  equal((await send(wanted(), alone)).id, "7");
  await send(wanted({ reference: "Table 7", note: "x", tipMinor: 0 }), alone);
  equal(asked.map(({ body }) => body), [
    { amountMinor: 1250, currency: "EUR" }, { amountMinor: 1250, currency: "EUR", reference: "Table 7", note: "x", tipMinor: 0 },
  ]);
  equal(pending(), null);
});

test("After silence the same charge is asked for again under the same key, in growing gaps, four times in all", async () => {
  const time = clock();
  const asked = terminal(silence);
  let retries = 0;
  const failed = throws(() => send(wanted(), { ...alone, onRetry: () => { retries += 1; } }));
  const times = [];
  await settled();
  while (time.next !== null) {
    times.push(time.next);
    await time.advance(time.next);
  }
  equal([(await failed) instanceof api.NoAnswer, times, retries], [true, [700, 1_500, 3_000], 3]);
  equal([asked.length, new Set(asked.map(({ headers }) => headers["Idempotency-Key"])).size], [4, 1]);
});

test("Where nobody answers the intent stays: the next try has the same key and cannot charge twice", async () => {
  const time = clock();
  const intent = wanted();
  terminal(silence);
  const failed = throws(() => send(intent, alone));
  await time.advance(60_000);
  await failed;
  equal(pending(), intent);
  const asked = terminal(() => ({ body: { id: "7" } }));
  await send(pending(), alone);
  equal([asked[0].headers["Idempotency-Key"], pending()], [intent.key, null]);
});

test("An answer that comes late is taken at the next try", async () => {
  const time = clock();
  let tries = 0;
  terminal(() => { tries += 1; return tries < 3 ? silence() : { body: { id: "7" } }; });
  const sent = send(wanted(), alone);
  await time.advance(10_000);
  equal([(await sent).id, tries, pending()], ["7", 3, null]);
});

test("A refusal ends the intent: nothing was charged, and another amount is another key", async () => {
  terminal(() => ({ status: 422, body: { code: "amount_above_limit", message: "No." } }));
  equal((await throws(() => send(wanted(), alone))).code, "amount_above_limit");
  equal(pending(), null);
});

test("A session that ended says nothing about the charge: after the sign-in the same key asks again", async () => {
  terminal(() => ({ status: 401, body: { code: "signed_out", message: "No." } }));
  const intent = wanted();
  await throws(() => send(intent, alone));
  equal(pending(), intent);
});

test("A page that was left asks no further", async () => {
  const time = clock();
  const asked = terminal(silence);
  let isOver = false;
  const failed = throws(() => send(wanted(), { onRetry: () => { isOver = true; }, isOver: () => isOver }));
  await time.advance(60_000);
  equal([(await failed) instanceof api.NoAnswer, asked.length], [true, 1]);
});

test("Ten minutes later an intent belongs to another sale, and a clock that was set back does not keep it", async () => {
  const time = clock();
  wanted();
  await time.advance(599_999);
  equal(pending() === null, false);
  await time.advance(1);
  equal(pending(), null);
  wanted();
  clock("2026-11-27T09:00:00Z");
  equal(pending(), null);
});

test("What is kept and is no intent is none", () => {
  afterwards(end);
  for (const kept of ["", "not JSON", "null", "7", "{}"]) {
    sessionStorage.setItem("till.intent", kept);
    equal([kept, pending()], [kept, null]);
  }
});

test("The charge that the terminal runs is the lost answer: same amount and same reference", () => {
  for (const [charge, isSettled] of [
    [{ amountMinor: 1250 }, true], [{ amountMinor: 1250, reference: "" }, true], [{ amountMinor: 1251 }, false], [{ amountMinor: 1250, reference: "Table 7" }, false],
  ]) {
    wanted();
    settleWith(charge);
    equal([charge, pending() === null], [charge, isSettled]);
  }
  wanted({ reference: "Table 7" });
  settleWith({ amountMinor: 1250, reference: "Table 7" });
  equal(pending(), null);
});
