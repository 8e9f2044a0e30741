import { NoAnswer } from "/app/api.js";
import { useLanguage } from "/app/strings.js";
import { beginRefund, endRefund, pendingRefund, sendRefund } from "/app/refund-intent.js";
import { clock, terminal } from "./fakes.js";
import { afterwards, equal, test, throws } from "./harness.js";

await useLanguage(["en"]);

const WISH = { attempt: 1, amountMinor: 700, amountText: "€7.00", reason: "cold" };

function wanted(chargeID = "7") {
  afterwards(() => sessionStorage.clear());
  return beginRefund(chargeID, WISH);
}

test("A refund is asked for under a key of its own, and is over with the answer", async () => {
  const asked = terminal(() => ({ body: { id: "7" } }));
  const intent = wanted();
  equal((await sendRefund(intent)).id, "7");
  equal([asked[0].path, asked[0].body, asked[0].headers["Idempotency-Key"]], ["/charges/7/refund", { attempt: 1, amountMinor: 700, reason: "cold" }, intent.key]);
  equal([/^[0-9a-f-]{36}$/.test(intent.key), pendingRefund("7")], [true, null]);
});

test("After silence it is asked for three times more under the same key, and stays open", async () => {
  const time = clock();
  const asked = terminal(() => { throw new TypeError("Failed to fetch"); });
  const error = throws(() => sendRefund(wanted()));
  await time.advance(10_000);
  equal([(await error) instanceof NoAnswer, asked.length, new Set(asked.map(({ headers }) => headers["Idempotency-Key"])).size], [true, 4, 1]);
  equal(pendingRefund("7")?.amountMinor, 700);
});

test("A refusal ends it, and a session that is over does not", async () => {
  for (const [status, isOpen] of [[409, false], [422, false], [401, true]]) {
    terminal(() => ({ status, body: { code: "x", message: "No." } }));
    const intent = wanted();
    await throws(() => sendRefund(intent));
    equal([status, pendingRefund("7") !== null], [status, isOpen]);
    endRefund();
  }
});

test("What is stored belongs to one charge, and nonsense is nothing", () => {
  wanted("8");
  equal([pendingRefund("7"), pendingRefund("8")?.reason], [null, "cold"]);
  sessionStorage.setItem("till.refund", "{");
  equal(pendingRefund("8"), null);
});
