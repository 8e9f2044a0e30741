import { pending } from "/app/intent.js";
import { state, update } from "/app/store.js";
import { t, useLanguage } from "/app/strings.js";
import { arrival, forgetAmount, keypadView, prefill } from "/app/views/keypad.js";
import { clock, fill, onPage, terminal } from "./fakes.js";
import { afterwards, equal, settled, test } from "./harness.js";

await useLanguage(["en"]);

const SHOP = { signedIn: true, role: "owner", currency: "EUR", currencyExponent: 2, locale: "en-US", tips: { mode: "none" } };

/** The keypad of a shop that takes euros, with a stopped clock. */
function keypad(session = {}, { typed = [] } = {}) {
  const all = { time: clock(), asked: terminal(() => ({ body: { id: "7", state: "created", amountMinor: 0 } })) };
  update({ session: { ...SHOP, ...session }, terminal: null, followed: null });
  if (typed.length === 0) forgetAmount();
  all.view = keypadView();
  onPage(all.view.element);
  all.view.update();
  all.leave = () => {
    all.view.end();
    all.view.element.remove();
  };
  afterwards(() => {
    all.leave();
    forgetAmount();
    sessionStorage.clear();
    arrival.note = null;
    update({ session: null, terminal: null, followed: null });
  });
  const find = (selector) => all.view.element.querySelector(selector);
  Object.assign(all, {
    find,
    amount: () => find(".amount").textContent,
    button: () => find(".charge-button").textContent,
    isOff: () => find(".charge-button").disabled,
    says: () => find(".waiting").textContent,
    trouble: () => find(".trouble").textContent,
    /** Keys of a keyboard beside the page. */
    type(keys) {
      for (const key of keys) document.body.dispatchEvent(new KeyboardEvent("keydown", { key, bubbles: true, cancelable: true }));
    },
    press(label) { [...all.view.element.querySelectorAll(".key")].find((key) => key.textContent === label || key.getAttribute("aria-label") === label).click(); },
    async charge() {
      find(".charge-button").click();
      await settled();
    },
  });
  return all;
}

test("Nothing typed can be charged", () => {
  const { isOff, button, amount } = keypad();
  equal([isOff(), button(), amount()], [true, t("keypad.buttonEmpty"), "€0.00"]);
});

test("A keyboard beside the page types as the keys do: 12,5 is twelve and a half", () => {
  for (const keys of ["12,5", "12.5", "1250", "12,50"]) {
    const { type, button, amount, leave } = keypad();
    type(keys);
    equal([keys, amount(), button()], [keys, "€12.50", t("keypad.button", { amount: "€12.50" })]);
    leave();
  }
});

test("The keys on the page are those of its currency", () => {
  const { press, amount } = keypad();
  for (const key of ["1", "2", ".", "5"]) press(key);
  equal(amount(), "€12.50");
  press(t("keypad.backspace"));
  press(t("keypad.backspace"));
  equal(amount(), "€0.12");
  const yen = keypad({ currency: "JPY", currencyExponent: 0 });
  for (const key of ["1", "000"]) yen.press(key);
  equal([yen.amount(), yen.find(".key-point")], ["¥1,000", null]);
});

test("The decimal key has the sign of the shop", () => {
  equal([keypad({ locale: "de-DE" }).find(".key-point").textContent, keypad().find(".key-point").textContent], [",", "."]);
});

test("What cannot be read stands there as it was typed, says why, and is not charged with Enter", async () => {
  for (const [keys, why, session] of [
    ["12.5055", "tooFine"], ["12.50", "tooFine", { currency: "JPY", currencyExponent: 0 }], ["999999999999", "tooLong"], ["1000*", "badTimes"],
    ["12 50", "notANumber"], ["1.2.3", "notANumber"], ["-5", "negative"], ["1,234", "ambiguous", { locale: "de-DE" }], ["12.50+3", "mixed"],
  ]) {
    const { type, says, amount, isOff, button, asked, leave } = keypad(session);
    type(keys);
    type(["Enter"]);
    await settled();
    equal([keys, says(), button(), isOff(), asked.length], [keys, t(`keypad.${why}`), t(`keypad.${why}`), true, 0]);
    if (why === "notANumber") equal(amount(), keys);
    leave();
  }
});

test("A keyboard beside the page types groups, decimals and digits of every script as the terminal's API reads them", async () => {
  for (const [keys, locale, minor] of [
    ["1.234,50", "de-DE", 123450], ["1,234.50", "de-DE", 123450], ["1 234,50", "fr-FR", 123450], ["١٢٥٠", "ar-EG", 1250], ["１２．５", "ja-JP", 1250], ["١٬٢٣٤٫٥", "ar-EG", 123450],
  ]) {
    const { type, asked, leave } = keypad({ locale });
    type(keys);
    type(["Enter"]);
    await settled();
    equal([keys, asked[0]?.body.amountMinor], [keys, minor]);
    leave();
  }
});

test("An amount is pasted as it reads, and what is none is said", async () => {
  const paste = (text) => {
    const clipboardData = new DataTransfer();
    clipboardData.setData("text", text);
    document.body.dispatchEvent(new ClipboardEvent("paste", { clipboardData, bubbles: true, cancelable: true }));
  };
  const all = keypad({ locale: "de-DE" });
  paste("€ 5");
  equal([all.says(), all.isOff()], [t("keypad.notANumber"), true]);
  paste(" 1.234,50\n");
  equal(all.isOff(), false);
  await all.charge();
  equal(all.asked[0].body.amountMinor, 123450);
});

test("An amount that was left for a minute is replaced by the next digit, and so is one from before a reload", async () => {
  const all = keypad();
  all.type("4.50");
  equal(all.find(".amount-stack").lastChild.hidden, true);
  await all.time.advance(60_000);
  equal([all.amount(), all.find(".amount-stack").lastChild.hidden], ["€4.50", false]);
  all.type("2000");
  equal([all.amount(), all.find(".amount-stack").lastChild.hidden], ["€20.00", true]);
  all.leave();
  const again = keypad({}, { typed: ["2000"] });
  equal(again.amount(), "€20.00");
  again.type("7");
  equal(again.amount(), "€0.07");
});

test("An amount that was left is corrected and added to as it stands", async () => {
  for (const [keys, amount] of [[["Backspace"], "€0.45"], [["+", "5", "0"], "€5.00"]]) {
    const all = keypad();
    all.type("450");
    await all.time.advance(60_000);
    all.type(keys);
    equal([keys, all.amount()], [keys, amount]);
    all.leave();
  }
});

test("Keys with Ctrl, Alt or the command key are the browser's", () => {
  const { amount } = keypad();
  for (const modifier of ["ctrlKey", "altKey", "metaKey"]) document.body.dispatchEvent(new KeyboardEvent("keydown", { key: "1", [modifier]: true, bubbles: true }));
  equal(amount(), "€0.00");
});

test("What is typed into the reference is no amount", () => {
  const { find, amount } = keypad();
  find("[name=reference]").dispatchEvent(new KeyboardEvent("keydown", { key: "7", bubbles: true }));
  equal(amount(), "€0.00");
});

test("Escape clears what is being typed, minus takes the last entry out, Delete everything", () => {
  const { type, amount } = keypad();
  type("100+200+300");
  type(["Escape"]);
  equal(amount(), "€3.00");
  type("-");
  equal(amount(), "€1.00");
  type(["Delete"]);
  equal(amount(), "€0.00");
});

test("A charge is asked for with what stands there, and the keypad is empty afterwards", async () => {
  const { asked, charge, type, find, amount } = keypad();
  type("12.5+2*1.25");
  fill(find("[name=reference]"), " Table 7 ");
  fill(find("[name=note]"), "no onions");
  await charge();
  equal(asked.map(({ path, body }) => [path, body]), [["/charges", { amountMinor: 1500, currency: "EUR", reference: "Table 7", note: "no onions" }]]);
  equal([state.followed.id, sessionStorage.getItem("till.draft")], ["7", null]);
  type("1");
  equal(amount(), "€0.01");
});

test("Enter charges, and a key that is held down charges once", async () => {
  const { asked, type } = keypad();
  type("5");
  document.body.dispatchEvent(new KeyboardEvent("keydown", { key: "Enter", repeat: true, bubbles: true, cancelable: true }));
  equal(asked.length, 0);
  type(["Enter", "Enter"]);
  await settled();
  equal(asked.length, 1);
});

test("An amount above this person's limit cannot be charged, and the limit itself can", () => {
  const { type, isOff, button } = keypad({ maximumMinor: 5000 });
  type("50.00");
  equal(isOff(), false);
  type(["Delete"]);
  type("50.01");
  equal([isOff(), button()], [true, t("keypad.aboveLimit", { limit: "€50.00" })]);
});

test("A tip counts against the limit as well, and is part of what is charged", async () => {
  const { type, find, isOff, button, charge, asked } = keypad({ maximumMinor: 5000, tips: { mode: "offer", presets: [10], maximumPercent: 50 } });
  type("48.00");
  find("[data-tip=\"10\"]").click();
  equal([isOff(), button()], [true, t("keypad.aboveLimit", { limit: "€50.00" })]);
  type(["Delete"]);
  type("12.50");
  find("[data-tip=\"10\"]").click();
  equal(find(".amount").textContent, "€13.75");
  await charge();
  equal(asked[0].body, { amountMinor: 1375, currency: "EUR", tipMinor: 125 });
});

test("Where a tip must be asked for, nothing is charged before it is answered, and no tip is an answer", async () => {
  const { type, find, isOff, button, charge, asked } = keypad({ tips: { mode: "ask", presets: [10], maximumPercent: 50 } });
  type("12.50");
  equal([isOff(), button()], [true, t("tips.choose")]);
  find("[data-tip=none]").click();
  equal(isOff(), false);
  await charge();
  equal(asked[0].body, { amountMinor: 1250, currency: "EUR", tipMinor: 0 });
});

test("A tip by percent goes with the amount when more is typed", () => {
  const { type, find, amount } = keypad({ tips: { mode: "offer", presets: [10], maximumPercent: 50 } });
  type("1.00");
  find("[data-tip=\"10\"]").click();
  type("+9.00");
  equal(amount(), "€11.00");
});

test("What is typed stays over a reload, for the person who typed it", () => {
  const first = keypad();
  first.type("12.5");
  first.leave();
  const second = keypad({}, { typed: ["12.5"] });
  equal(second.amount(), "€12.50");
  forgetAmount();
  second.view.update();
  equal([second.amount(), sessionStorage.getItem("till.draft")], ["€0.00", null]);
});

test("A charge that is not open after three seconds says that it is still tried, and not before", async () => {
  const all = keypad();
  all.type("5");
  terminal(() => new Promise(() => {}));
  await all.charge();
  await all.time.advance(2_999);
  equal(all.says(), "");
  await all.time.advance(1);
  equal(all.says(), t("keypad.stillTrying"));
});

test("A refusal is said where it belongs: at the note, at the reference, or above the button", async () => {
  for (const [body, selector] of [
    [{ code: "invalid_note", message: "Bad note.", fields: { note: { code: "x", message: "Too long.", action: "Do this." } } }, "[name=note]"],
    [{ code: "invalid_reference", message: "Bad reference.", action: "Do this." }, "[name=reference]"],
  ]) {
    const all = keypad();
    all.type("5");
    terminal(() => ({ status: 422, body }));
    await all.charge();
    equal(all.find(selector).closest(".field").querySelector(".field-error").textContent.endsWith("Do this."), true);
    equal([body.code, all.find(selector).getAttribute("aria-invalid"), all.trouble(), document.activeElement === all.find(selector)], [body.code, "true", "", true]);
    all.leave();
  }
  const all = keypad();
  all.type("5");
  terminal(() => ({ status: 422, body: { code: "amount_above_limit", message: "At most €50.00.", action: "Ask." } }));
  await all.charge();
  equal([all.trouble(), all.amount(), pending()], ["At most €50.00.Ask.", "€0.05", null]);
});

test("After silence the cashier decides, and trying again asks under the same key", async () => {
  const all = keypad();
  all.type("12.5");
  const silent = terminal(() => { throw new TypeError("Failed to fetch"); });
  await all.charge();
  await all.time.advance(10_000);
  equal([silent.length, all.trouble().includes("€12.50")], [4, true]);
  all.type("9");
  equal(all.amount(), "€12.50");
  const asked = terminal(() => ({ body: { id: "7", state: "created" } }));
  all.find(".open-question .primary").click();
  await settled();
  equal([asked[0].headers["Idempotency-Key"], asked[0].body.amountMinor, pending()], [silent[0].headers["Idempotency-Key"], 1250, null]);
});

test("Given up, the amount stays and the next press is a charge of its own", async () => {
  const all = keypad();
  all.type("12.5");
  const silent = terminal(() => { throw new TypeError("Failed to fetch"); });
  await all.charge();
  await all.time.advance(10_000);
  all.find(".open-question button").click();
  equal([all.amount(), all.trouble(), pending()], ["€12.50", "", null]);
  const asked = terminal(() => ({ body: { id: "7", state: "created" } }));
  await all.charge();
  equal(asked[0].headers["Idempotency-Key"] === silent[0].headers["Idempotency-Key"], false);
});

test("A terminal that is busy with somebody else's charge shows that one", async () => {
  const all = keypad();
  all.type("5");
  terminal(({ path }) => (path === "/charges" ? { status: 409, body: { code: "busy", message: "Busy." } } : { body: { id: "8", state: "requiresAction" } }));
  await all.charge();
  equal([state.followed.id, arrival.note], ["8", t("keypad.busyElsewhere")]);
});

test("A charge that is charged again has its amount, tip and reference", () => {
  const all = keypad({ tips: { mode: "offer", presets: [10], maximumPercent: 50 } });
  prefill({ amountMinor: 1375, tipMinor: 125, reference: "Table 7" });
  all.view.update();
  equal([all.amount(), all.find("[data-tip=other]").getAttribute("aria-pressed")], ["€13.75", "true"]);
  update({ session: { ...SHOP } });
  prefill({ amountMinor: 1375, tipMinor: 125 });
  all.view.update();
  equal(all.amount(), "€13.75");
});

test("A terminal that just starts charges nothing, and a gateway out of reach is said before", () => {
  const all = keypad();
  all.type("5");
  update({ terminal: { phase: "starting", checking: 2 } });
  all.view.update();
  equal([all.isOff(), all.says()], [true, t("keypad.starting", { count: 2 })]);
  for (const [gateway, words] of [["unreachable", "gateway.unreachableHint"], ["refused", "gateway.refusedHint"], ["clock", "gateway.clockHint"]]) {
    update({ terminal: { phase: "idle", gateway } });
    all.view.update();
    equal([gateway, all.isOff(), all.says()], [gateway, false, t(words)]);
  }
});

test("A gateway that asks to wait is said with the terminal's own words for until when", () => {
  const all = keypad();
  all.type("5");
  update({ terminal: { phase: "idle", gateway: "paused", gatewayPause: { code: "gateway_paused", message: "Until 14:05.", action: "Wait." } } });
  all.view.update();
  equal([all.isOff(), all.says()], [false, "Until 14:05. Wait."]);
});

test("A keypad that was left hears no keys any more", () => {
  const all = keypad();
  all.view.end();
  all.type("5");
  equal(all.amount(), "€0.00");
});
