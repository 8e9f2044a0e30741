// The set-up's last question: does a charge go through? An ordinary charge of the smallest amount, followed live.

import * as api from "../api.js";
import { isFinal, look } from "../charge-words.js";
import { h, refill } from "../dom.js";
import { asking, isHeld, putAway } from "../following.js";
import { busyButton, notice } from "../form.js";
import { icon } from "../icons.js";
import * as intent from "../intent.js";
import { amountText, exponentOf } from "../money.js";
import { state } from "../store.js";
import { t } from "../strings.js";

/** True where no real money can move: the gateway is on the terminal's own machine. */
function isSandbox(url) { return /^https?:\/\/(127\.0\.0\.1|localhost)([:/]|$)/.test(url ?? ""); }

/** Which parts of it have happened, and which is happening now. */
function stages(charge) {
  const isPaid = charge.state === "succeeded";
  const hasCode = isPaid || charge.onScreen === true || ["processing", "unknown"].includes(charge.state) || Boolean(charge.link);
  const isPaying = isPaid || charge.state === "processing" || charge.promised === true;
  return [["opened", true], ["code", hasCode], ["paying", isPaying], ["paid", isPaid]];
}

export function testStep({ known, changed, finished }) {
  const { settings } = known;
  const currency = settings.currency;
  const amount = amountText("1", { currency, exponent: exponentOf(currency), locale: settings.locale });
  const warning = isSandbox(settings.gatewayURL)
    ? notice("plain", t("setup.test.sandbox"), t("setup.test.sandboxMore"))
    : notice("bad", t("setup.test.realMoney"), t("setup.test.realMoneyMore", { amount }));
  const list = h("ol", { class: "setup-stages", "aria-live": "polite" });
  const result = h("div", { class: "tested", role: "status" });
  const begin = busyButton({ label: t("setup.test.start", { amount }), busyLabel: t("setup.test.starting"), type: "button", className: "button wide" });
  const cancel = busyButton({ label: t("setup.test.cancel"), busyLabel: t("setup.test.cancelling"), type: "button", className: "button wide" });
  let shown = "";
  let isOver = false;

  const isTest = (charge) => charge && charge.id === known.setUp.testCharge;

  async function start() {
    changed();
    refill(result);
    const show = asking();
    try {
      // A press after a lost answer asks for the same charge again: it cannot become two.
      const wish = intent.pending() ?? intent.begin({ amountMinor: 1, currency, reference: t("setup.test.reference") });
      const charge = await intent.send(wish, { onRetry() {}, isOver: () => isOver });
      known.setUp = await api.saveSetUp({ version: known.setUp.version, testCharge: charge.id });
      show(charge);
      paint();
    } catch (error) {
      if (error.status !== 401) refill(result, notice("bad", error.message, error.action));
    }
  }

  async function takeBack() {
    const show = asking();
    try {
      show(await api.cancelCharge(known.setUp.testCharge));
    } catch (error) {
      if (error.status !== 401) refill(result, notice("bad", error.message, error.action));
    }
  }

  function paint() {
    const charge = isTest(state.followed) ? state.followed : null;
    const now = JSON.stringify([charge && { ...charge, secondsLeft: null }, isHeld(charge)]);
    if (now === shown) return;
    shown = now;
    const isRunning = charge !== null && !isFinal(charge);
    begin.element.hidden = isRunning;
    begin.setLabel(charge ? t("setup.test.again") : t("setup.test.start", { amount }));
    cancel.element.hidden = !isRunning || !charge.canCancel;
    begin.element.classList.toggle("primary", !charge);
    if (!charge) return;
    const happened = stages(charge);
    const current = happened.findIndex(([, is]) => !is);
    refill(list, happened.map(([name, is], index) => h(
      "li", { class: is ? "is-done" : index === current && isRunning ? "is-now" : null },
      icon(is ? "check" : "clock"), h("span", {}, t(`setup.test.steps.${name}`)),
    )));
    refill(result, verdict(charge));
    warning.hidden = isFinal(charge);
    if (charge.state === "succeeded") finished();
  }

  function verdict(charge) {
    if (charge.state === "succeeded") return notice("good", t("setup.test.doneWell"), t("setup.test.doneWellMore", { amount: charge.amountText, code: charge.code }));
    const { title, what, todo } = look(charge);
    if (charge.state === "requiresAction" && !charge.unresolved) return charge.link || charge.onScreen ? notice("plain", t("setup.test.codeHint")) : null;
    if (isFinal(charge)) return notice(charge.state === "cancelled" ? "plain" : "bad", charge.state === "cancelled" ? title : t("setup.test.stop"), `${what} ${todo}`.trim());
    return charge.unresolved || charge.state === "unknown" ? notice("bad", t("setup.test.unknown"), `${charge.reason?.message ?? what} ${charge.reason?.action ?? todo}`.trim()) : null;
  }

  begin.element.addEventListener("click", () => begin.during(start));
  cancel.element.addEventListener("click", () => cancel.during(takeBack));
  // After a reload, or on another device.
  if (known.setUp.testCharge && !isTest(state.followed)) {
    const show = asking();
    api.charge(known.setUp.testCharge).then((charge) => { if (!isOver) { show(charge); paint(); } }).catch(() => {});
  }
  paint();
  return {
    element: h("div", { class: "stack" }, warning, result, list, begin.element, cancel.element),
    update: paint,
    end() {
      isOver = true;
      // Its result is told here; the keypad begins empty.
      if (isTest(state.followed) && isFinal(state.followed)) putAway();
    },
  };
}
