// One charge, large: what state it is in, in the words and colours of the terminal's screen, and what can be done.

import * as api from "../api.js";
import { clockText, isFinal, isUnrecorded, look } from "../charge-words.js";
import { ask } from "../dialog.js";
import { announce, h, refill } from "../dom.js";
import { asking, isHeld, putAway } from "../following.js";
import { notice } from "../form.js";
import { amountText } from "../money.js";
import { icon } from "../icons.js";
import { chargeAddress } from "../recent.js";
import { state } from "../store.js";
import { t } from "../strings.js";
import { arrival, prefill } from "./keypad.js";

/** Seconds left at which a screen reader says so. */
const HEARD_SECONDS = [60, 30, 10];

export function chargePanel() {
  const title = h("h1", { class: "panel-title", tabindex: "-1" });
  const what = h("p", { class: "panel-what" });
  const todo = h("p", { class: "panel-todo" });
  const disc = h("div", { class: "panel-disc" });
  const amount = h("p", { class: "panel-amount" });
  const facts = h("dl", { class: "panel-facts" });
  const clock = h("span", { class: "panel-clock-words" });
  const bar = h("span", { class: "panel-bar" });
  const time = h("div", { class: "panel-clock", role: "timer", "aria-live": "off" }, clock, h("span", { class: "panel-track" }, bar));
  const underWay = h("p", { class: "panel-under-way", "aria-live": "off" });
  const split = h("p", { class: "panel-split" });
  const doubt = h("p", { class: "panel-doubt" });
  const actions = h("div", { class: "panel-actions" });
  const trouble = h("div", { class: "trouble", role: "alert" });
  const element = h(
    "section", { class: "panel", "aria-labelledby": "panel-title" },
    h("div", { class: "panel-main" }, disc, title, amount, split, what, todo, underWay, doubt, time, facts),
    trouble,
    actions,
  );
  title.id = "panel-title";

  let shown = "";
  let shownState = null;
  let shownActions = null;
  let timer = null;
  let secondsBefore = null;
  let isWorking = false;
  let wasOffered = false;
  /** A question about the charge as it stands: `{ holds, end }`; null while there is none. */
  let question = null;

  function update() {
    const charge = state.followed;
    if (!charge) return;
    // The clock is not part of what is compared: it ticks by itself between the terminal's words.
    const held = isHeld(charge);
    const now = JSON.stringify([{ ...charge, secondsLeft: null }, held, isWorking, arrival.note]);
    if (now !== shown) {
      shown = now;
      const focused = actions.contains(document.activeElement) ? document.activeElement.dataset.act : null;
      paint(charge, held);
      if (focused && !isWorking && !actions.contains(document.activeElement)) focusAction(focused);
    }
    tick();
  }

  function paint(charge, held) {
    const { tone, icon: picture, title: words, what: happened, todo: next } = look(charge);
    const unrecorded = isUnrecorded(charge);
    const isCancelling = !unrecorded && !isFinal(charge) && held && !charge.canCancel && ["created", "requiresAction"].includes(charge.state);
    element.dataset.tone = tone;
    element.dataset.state = charge.state;
    const stateNow = `${charge.id} ${unrecorded ? "unrecorded" : charge.state}`;
    if (shownState !== stateNow) {
      refill(disc, icon(picture));
      secondsBefore = null;
      // What was asked or said of an earlier state is not so any more.
      if (!isWorking) refill(trouble);
      if (shownState !== null || isFinal(charge)) {
        announce([words, charge.amountText, happened, next].filter(Boolean).join(". "), { atOnce: true });
      }
      shownState = stateNow;
    }
    if (question && !question.holds(charge)) question.end();
    title.textContent = words;
    document.title = `${words} · ${charge.amountText}`;
    amount.textContent = charge.amountText;
    amount.dataset.length = charge.amountText.length > 13 ? "huge" : charge.amountText.length > 9 ? "long" : "short";
    split.textContent = splitWords(charge);
    split.hidden = split.textContent === "";
    const isInDoubt = !unrecorded && charge.unresolved && !isFinal(charge) && charge.state !== "unknown";
    const wallet = !unrecorded && charge.state === "requiresAction" ? walletWords(charge.connect) : "";
    what.textContent = isCancelling ? t("charge.cancelling") : isInDoubt ? t(`state.${charge.state}.what`) : wallet || happened;
    todo.textContent = isInDoubt ? "" : next;
    todo.hidden = todo.textContent === "";
    const background = charge.state === "unknown" && !held ? t("charge.background") : "";
    const doubtWords = isInDoubt ? [charge.reason?.message, charge.reason?.action].filter(Boolean).join(" ") : background || (arrival.note ?? "");
    refill(doubt, doubtWords ? [icon(isInDoubt ? "alert" : "clock"), h("span", {}, doubtWords)] : null);
    doubt.hidden = doubtWords === "";
    element.classList.toggle("is-full", doubtWords !== "" || todo.textContent.length > 60);
    refill(facts, factsOf(charge));
    // Buttons stay the same elements while they say the same: the focus, and a question's way back to it, stay with them.
    const offered = JSON.stringify([charge.id, charge.amountText, charge.state, isReleaseOffered(charge), charge.canCancel, charge.connect?.canTurnCode, charge.connect?.code, held, isWorking]);
    if (offered !== shownActions) {
      shownActions = offered;
      refill(actions, actionsOf(charge, held));
    }
  }

  /** What of the amount is a tip; empty where there is none. */
  function splitWords(charge) {
    if (!charge.tipText || !state.session?.currency) return "";
    const { currency, currencyExponent: exponent, locale } = state.session;
    const base = String(charge.amountMinor - (charge.tipMinor ?? 0));
    return t("tips.split", { amount: amountText(base, { currency, exponent, locale }), tip: charge.tipText });
  }

  /** How far a wallet has come that pairs with the terminal, or why the last one did not pay. */
  function walletWords(connect) {
    if (!connect) return "";
    if (connect.trouble) return `${connect.trouble.message} ${connect.trouble.action}`;
    return connect.step === "invited" ? "" : t(`charge.wallet.${connect.step}`, { wallet: connect.wallet || t("charge.aWallet") });
  }

  function factsOf(charge) {
    const fact = (name, value, className = null) => h("div", { class: className }, h("dt", {}, name), h("dd", {}, h("bdi", {}, value)));
    return [
      fact(t("charge.codeLabel"), charge.code, "panel-code"),
      charge.reference ? fact(t("charge.referenceLabel"), charge.reference) : null,
      charge.evidence?.paidAmountText && charge.evidence.paidAmountText !== charge.amountText
        ? fact(t("detail.evidenceNames.paidAmountText"), charge.evidence.paidAmountText) : null,
    ];
  }

  function actionsOf(charge, held) {
    const button = (act, label, className, click) => h(
      "button", { class: `button ${className}`, type: "button", "data-act": act, disabled: isWorking, on: { click } }, label,
    );
    const details = h("a", { class: "button on-tone quiet-button", href: chargeAddress(charge) }, t("charge.details"));
    if (held) {
      return [
        charge.connect?.canTurnCode ? button(
          "turn", t(charge.connect.code === "pairing" ? "charge.showPayment" : "charge.showPairing"), "on-tone",
          () => act(() => api.turnCode(charge.id, charge.connect.code === "pairing" ? "payment" : "pairing")),
        ) : null,
        isReleaseOffered(charge) ? button("release", t("charge.release"), "on-tone", () => release(charge)) : null,
        charge.canCancel ? button("cancel", t("charge.cancel"), "on-tone", () => cancel(charge)) : null,
        isFinal(charge) ? button("new", t("charge.newCharge"), "on-tone strong", leave) : null,
      ];
    }
    if (!isFinal(charge)) return [button("next", t("charge.nextCustomer"), "on-tone strong", leave), details];
    if (charge.state === "succeeded") return [button("new", t("charge.newCharge"), "on-tone strong", leave), details];
    return [
      button("again", t("charge.again", { amount: charge.amountText }), "on-tone strong", () => { prefill(charge); leave(); }),
      button("new", t("charge.newCharge"), "on-tone", leave),
      details,
    ];
  }

  /** To the button of that name, which may be a new element by now, or to the words above where there is none. */
  function focusAction(name) {
    const target = actions.querySelector(`[data-act="${name}"]:enabled`) ?? title;
    target.focus({ preventScroll: true });
  }

  function leave() {
    arrival.note = null;
    putAway();
  }

  /** Asks about the charge as it stands. The question goes once it `holds` no more. */
  async function asked(words, holds) {
    const control = new AbortController();
    question = { holds, end: () => control.abort() };
    try {
      return await ask({ ...words, signal: control.signal });
    } finally {
      question = null;
    }
  }

  async function cancel(charge) {
    const yes = await asked({
      title: t("charge.cancelTitle"), text: t("charge.cancelText", { amount: charge.amountText }),
      yes: t("charge.cancelYes"), no: t("charge.cancelNo"), isGrave: true,
    }, ({ id, canCancel }) => id === charge.id && canCancel);
    if (yes) await act(() => api.cancelCharge(charge.id));
    else focusAction("cancel");
  }

  async function release(charge) {
    const yes = await asked({
      title: t("charge.releaseTitle"), text: t("charge.releaseText", { amount: charge.amountText }),
      yes: t("charge.releaseYes"), no: t("charge.releaseNo"), isGrave: true,
    }, (now) => now.id === charge.id && isReleaseOffered(now));
    if (yes) await act(() => api.releaseCharge(charge.id));
    else focusAction("release");
  }

  async function act(call) {
    refill(trouble);
    isWorking = true;
    update();
    const show = asking();
    try {
      const charge = await call();
      // A final word is never taken back by an earlier answer.
      if (state.followed?.id === charge.id && !isFinal(state.followed)) show(charge);
    } catch (error) {
      if (error.status !== 401) refill(trouble, notice("bad", error.message || t("charge.actionFailed"), error.action));
    } finally {
      isWorking = false;
      update();
    }
  }

  /** Seconds since the terminal said what is known of the charge. */
  function secondsSince() { return (performance.now() - state.followedAt) / 1000; }

  /** Whether staff may go on without an answer now. A payment that is answered as usual is over before. */
  function isReleaseOffered(charge) { return charge.canRelease === true && (charge.releaseInSeconds ?? 0) - secondsSince() <= 0; }

  /** Counts the seconds of a payment that is under way, and offers to go on without an answer when that is due. */
  function tickUnderWay(charge) {
    const isUnderWay = charge && charge.state === "processing" && Number.isInteger(charge.processingSeconds) && !charge.promised;
    underWay.hidden = !isUnderWay;
    if (!isUnderWay) return;
    const words = t("charge.underWay", { time: clockText(charge.processingSeconds + secondsSince()) });
    if (underWay.textContent !== words) underWay.textContent = words;
    if (isReleaseOffered(charge) !== wasOffered) {
      wasOffered = isReleaseOffered(charge);
      shown = "";
      update();
      return;
    }
    timer = setTimeout(tick, 250);
  }

  /** Counts down between the terminal's words, by the page's steady clock: the time of day may be wrong here. */
  function tick() {
    clearTimeout(timer);
    const charge = state.followed;
    const isTimed = charge && charge.secondsLeft !== null && charge.secondsLeft !== undefined
      && ["created", "requiresAction"].includes(charge.state);
    time.hidden = !isTimed;
    tickUnderWay(charge);
    if (!isTimed) return;
    const left = charge.secondsLeft - (performance.now() - state.followedAt) / 1000;
    const whole = Math.max(0, Math.ceil(left));
    const words = whole > 0 ? t("charge.timeLeft", { time: clockText(whole) }) : t("charge.timeOver");
    if (clock.textContent !== words) clock.textContent = words;
    const total = (new Date(charge.deadline) - new Date(charge.createdAt)) / 1000;
    bar.style.setProperty("--left", String(total > 0 ? Math.min(1, Math.max(0, left / total)) : 0));
    for (const mark of HEARD_SECONDS) {
      if (secondsBefore !== null && secondsBefore > mark && whole <= mark && whole > 0) announce(t("charge.timeLeftHeard", { seconds: mark }));
    }
    secondsBefore = whole;
    if (whole > 0) timer = setTimeout(tick, 250);
  }

  return {
    element,
    update,
    ready() { title.focus({ preventScroll: true }); },
    end() { clearTimeout(timer); },
  };
}
