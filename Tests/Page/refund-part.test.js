import { update } from "/app/store.js";
import { t, useLanguage } from "/app/strings.js";
import { refundPart } from "/app/views/refund-part.js";
import { clock, gone, onPage, terminal } from "./fakes.js";
import { afterwards, equal, settled, test } from "./harness.js";

await useLanguage(["en"]);

const PAYMENT = { attempt: 1, leftMinor: 1250, leftText: "€12.50" };

/** The refunds of a charge, before whoever has that role. */
function refunds(charge, session = {}) {
  const all = { changes: 0, asked: terminal(() => ({ body: {} })) };
  update({ session: { role: "owner", currencyExponent: 2, locale: "en-US", ...session } });
  all.part = refundPart({ id: "7", currency: "EUR", ...charge }, { onChanged: async () => { all.changes += 1; } });
  if (all.part) onPage(all.part);
  afterwards(() => {
    update({ session: null });
    sessionStorage.clear();
  });
  return all;
}

/** Opens the question, fills it in and says yes. Returns the errors at its fields, and what stood in the amount at first. */
async function give(all, amount, reason = "Cold soup") {
  all.part.querySelector("button").click();
  const dialog = document.querySelector("dialog");
  const field = (name) => dialog.querySelector(`[name=${name}]`);
  const first = field("amount").value;
  if (amount !== null) field("amount").value = amount;
  field("reason").value = reason;
  dialog.querySelector(".grave").click();
  const errors = [...dialog.querySelectorAll(".field-error")].map((error) => error.textContent);
  if (dialog.open && errors.some(Boolean)) dialog.close("no");
  await gone(dialog);
  return { first, errors };
}

test("Where there is nothing to give back and nothing was, there is nothing to see", () => {
  equal([refunds({}).part, refunds({ payments: [{ ...PAYMENT, leftMinor: 0 }] }).part], [null, null]);
});

test("A cashier sees what was given back and gives nothing back", () => {
  equal(refunds({ payments: [PAYMENT] }, { role: "cashier" }).part, null);
  const { part } = refunds({ payments: [PAYMENT], refunds: [{ amountText: "€2.00", reason: "<b>Cold</b>", by: "staff:Ada", mark: null }] }, { role: "cashier" });
  equal([part.querySelectorAll("button").length, part.querySelector("b"), part.textContent.includes("€2.00 · <b>Cold</b>"), part.textContent.includes("Ada")], [0, null, true, true]);
});

test("The whole payment stands there first, and is taken as it stands", async () => {
  const all = refunds({ payments: [PAYMENT] });
  await give(all, null);
  equal(all.asked.map(({ method, path, body }) => [method, path, body]), [["POST", "/charges/7/refund", { attempt: 1, amountMinor: 1250, reason: "Cold soup" }]]);
  equal(all.changes, 1);
});

test("Beside the button stands who gives the money back, and no button that only writes down says that it gives", () => {
  const part = refunds({ payments: [PAYMENT, { ...PAYMENT, attempt: 2, surplus: true }] }).part;
  equal(part.textContent.includes("You give the money back yourself"), true);
  const labels = [...part.querySelectorAll("button")].map((button) => button.textContent);
  equal(labels, ["Write down a refund of €12.50 or less", "Write down the refund of the second payment (€12.50)"]);
});

test("A part is given back: 2,5 is two and a half", async () => {
  const all = refunds({ payments: [PAYMENT] });
  await give(all, "2,5", "  Cold soup ");
  equal(all.asked[0].body, { attempt: 1, amountMinor: 250, reason: "Cold soup" });
});

test("More than was paid, nothing, and what is no amount are refused before anybody is asked", async () => {
  const all = refunds({ payments: [PAYMENT] });
  for (const amount of ["12.51", "0", "0,00", "", "2 50", "1.250", "-2", "1,2,3"]) {
    equal([amount, (await give(all, amount)).errors], [amount, [t("refund.badAmount", { most: "€12.50" }), ""]]);
  }
  equal(all.asked.length, 0);
});

test("A refund has a reason", async () => {
  const all = refunds({ payments: [PAYMENT] });
  equal([(await give(all, "2", "   ")).errors, all.asked.length], [["", t("refund.noReason")], 0]);
});

test("A currency without decimals, and one of three, is given back in its own units", async () => {
  const yen = refunds({ payments: [PAYMENT] }, { currencyExponent: 0 });
  equal((await give(yen, null)).first, "1250");
  equal(yen.asked[0].body.amountMinor, 1250);
  yen.part.remove();
  const dinar = refunds({ payments: [PAYMENT] }, { currencyExponent: 3 });
  equal((await give(dinar, null)).first, "1.250");
  equal(dinar.asked[0].body.amountMinor, 1250);
});

test("What stands there first has the decimal sign of the shop, and is taken as it stands", async () => {
  for (const [locale, currencyExponent, first] of [["de-DE", 2, "12,50"], ["de-DE", 3, "1,250"], ["ar-EG", 3, "1.250"], ["fr-FR", 0, "1250"]]) {
    const all = refunds({ payments: [PAYMENT] }, { locale, currencyExponent });
    equal([locale, (await give(all, null)).first, all.asked[0]?.body.amountMinor], [locale, first, 1250]);
    all.part.remove();
  }
});

test("1,250 dinars are a thousand or one in an English shop: refused and not guessed", async () => {
  const all = refunds({ payments: [PAYMENT] }, { currencyExponent: 3 });
  equal([(await give(all, "1,250")).errors, all.asked.length], [[t("refund.badAmount", { most: "€12.50" }), ""], 0]);
});

test("A refusal is said, and where the gateway denied it the charge is shown anew", async () => {
  const all = refunds({ payments: [PAYMENT] });
  terminal(() => ({ status: 422, body: { code: "refund_denied", message: "Denied.", action: "Call." } }));
  await give(all, "2");
  equal([all.part.querySelector(".trouble").textContent, all.changes], ["Denied.Call.", 1]);
});

test("A refund without an answer is asked for again under the same key, and no other is offered meanwhile", async () => {
  const time = clock();
  const all = refunds({ payments: [PAYMENT] });
  const silent = terminal(() => { throw new TypeError("Failed to fetch"); });
  await give(all, "7,00");
  await time.advance(10_000);
  equal([silent.length, new Set(silent.map(({ headers }) => headers["Idempotency-Key"])).size, all.changes], [4, 1, 0]);
  equal(all.part.querySelector(".trouble").textContent.includes("€7.00"), true);
  all.part.remove();
  // After a reload, or on coming back to the charge.
  const later = refunds({ payments: [PAYMENT] });
  equal([...later.part.querySelectorAll("button")].map((button) => button.textContent), [t("refund.giveUp"), t("keypad.tryAgain")]);
  later.part.querySelector(".primary").click();
  await settled();
  equal([later.asked[0].headers["Idempotency-Key"], later.asked[0].body, later.changes], [silent[0].headers["Idempotency-Key"], silent[0].body, 1]);
  equal(sessionStorage.getItem("till.refund"), null);
});

test("Two refunds that are wanted have two keys", async () => {
  const all = refunds({ payments: [PAYMENT] });
  await give(all, "7");
  await give(all, "7");
  equal([all.asked.length, new Set(all.asked.map(({ headers }) => headers["Idempotency-Key"])).size], [2, 2]);
});

test("A refund that the gateway has not confirmed is asked about, and no second one of that payment is offered", () => {
  const { part } = refunds({ payments: [{ ...PAYMENT, refundAsked: true }], refunds: [{ amountText: "€2.00", reason: "Cold", by: "staff:owner", mark: null }] });
  equal([...part.querySelectorAll("button")].map((button) => button.textContent), [t("refund.again")]);
});
