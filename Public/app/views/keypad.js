// The keypad: composes an amount and asks the terminal to charge it.

import { decimalSign } from "../amount-format.js";
import * as api from "../api.js";
import { asking, reattach } from "../following.js";
import { announce, h, refill } from "../dom.js";
import { busyButton, notice, problemText, textField } from "../form.js";
import { icon } from "../icons.js";
import * as intents from "../intent.js";
import { amountText } from "../money.js";
import { state } from "../store.js";
import { t } from "../strings.js";
import * as sums from "../sum.js";
import { tapeView } from "./tape.js";
import { chosenTip, tipRow } from "./tips.js";

const KEY = "till.draft";
const LONGEST_NOTE = 200;
/** An amount that nobody went on with for so long is another sale's: the next digit replaces it. As on the keypad beside the screen. */
const KEPT_MILLISECONDS = 60_000;
const LONGEST_REFERENCE = 35;
/** Longer than a charge takes to open on a slow day. */
const SLOW_MILLISECONDS = 3_000;

/** What is being typed. Kept while other pages, a reload, a sign-in or somebody else's charge come in between. */
const draft = { sum: sums.emptySum(), tip: null, reference: "", note: "", ...remembered() };

function remembered() {
  try {
    const { sum, tip, reference, note } = JSON.parse(sessionStorage.getItem(KEY));
    // Only what the keypad itself makes: anything else would fail at the first key.
    return Array.isArray(sum.lines) && typeof sum.digits === "string" && typeof sum.text === "string" ? { sum, tip, reference, note } : {};
  } catch {
    return {};
  }
}

function remember() {
  if (sums.isEmpty(draft.sum) && !draft.reference && !draft.note) sessionStorage.removeItem(KEY);
  else sessionStorage.setItem(KEY, JSON.stringify(draft));
}

function takesTips() { return (state.session?.tips?.mode ?? "none") !== "none"; }

/** Forgets what was typed, when somebody signs out. */
export function forgetAmount() {
  Object.assign(draft, { sum: sums.emptySum(), tip: null, reference: "", note: "" });
  remember();
}

/** Puts an amount on the keypad, to charge it again. */
export function prefill(charge) {
  // Where staff add none, a tip of before is a part of the amount.
  const tip = takesTips() ? charge.tipMinor ?? 0 : 0;
  Object.assign(draft, {
    sum: sums.sumOf(String(charge.amountMinor - tip)),
    tip: tip > 0 ? { minor: String(tip) } : null, reference: charge.reference ?? "", note: charge.note ?? "",
  });
  remember();
}

/** The words for a charge that was refused, kept for the keypad that comes after a sign-in or another view. */
let refusal = null;

/** Told to the running charge's view when the terminal was busy with it. */
export const arrival = { note: null };

export function keypadView() {
  let isGone = false;
  let shownPlight;
  // What was there before this view is replaced by the first digit.
  let isKept = !sums.isEmpty(draft.sum);
  let keptTimer = null;
  const money = () => ({
    currency: state.session.currency, exponent: state.session.currencyExponent, locale: state.session.locale,
  });
  const { currencyExponent: exponent, locale } = state.session;
  const words = (digits) => amountText(digits, money());
  const bill = () => sums.totalDigits(draft.sum);
  const tip = () => (takesTips() ? chosenTip(draft.tip, bill()) : "0");
  const total = () => (bill() === "" ? "" : sums.add(bill(), tip()));

  const amount = h("output", { class: "amount", "aria-label": t("keypad.amount"), "aria-live": "polite", "aria-atomic": "true" });
  const clear = h("button", { class: "clear", type: "button", on: { click: () => set(sums.emptySum()) } }, t("keypad.clear"));
  const tape = tapeView({ words, onRemove: (index) => set(sums.without(draft.sum, index, exponent, locale)) });
  const tips = tipRow({ words, onChoose: chooseTip });
  const split = h("p", { class: "amount-split", hidden: true });
  const kept = h("p", { class: "amount-split", hidden: true }, t("keypad.kept"));
  const reference = textField("reference", { label: t("keypad.reference"), value: draft.reference, attributes: { maxlength: LONGEST_REFERENCE } });
  const note = textField("note", { label: t("keypad.note"), help: t("keypad.noteHelp"), value: draft.note, attributes: { maxlength: LONGEST_NOTE } });
  const noteFold = h("details", { class: "note-fold", open: draft.note !== "" }, h("summary", {}, t("keypad.addNote")), note.element);
  const button = busyButton({ label: "", busyLabel: t("keypad.busy"), className: "button primary charge-button", type: "button" });
  const trouble = h("div", { class: "trouble", role: "alert" });
  const waiting = h("div", { class: "waiting", role: "status" });
  const keys = h("div", { class: "keys", role: "group", "aria-label": t("keypad.keys") },
    [..."123"].map(key), backspaceKey(), [..."456"].map(key), signKey("times", "×", () => apply(sums.times(draft.sum, exponent, locale))),
    [..."789"].map(key), signKey("plus", "+", () => apply(sums.plus(draft.sum, exponent, locale))), key("00"), key("0"),
    exponent === 0 ? key("000") : signKey("point", decimalSign(locale), () => press(decimalSign(locale))));

  function key(digits) {
    return h("button", { class: "key", type: "button", "aria-label": { "00": t("keypad.doubleZero"), "000": t("keypad.tripleZero") }[digits] ?? null, on: { click: () => press(digits) } }, digits);
  }

  function backspaceKey() {
    return h("button", { class: "key key-quiet", type: "button", "aria-label": t("keypad.backspace"), on: { click: backspace } }, icon("backspace"));
  }

  function signKey(name, sign, click) {
    return h("button", { class: `key key-quiet key-${name}`, type: "button", "aria-label": t(`keypad.${name}`), on: { click } }, sign);
  }

  function backspace() { set(sums.backspace(draft.sum, exponent, locale)); }

  // A key that was tapped must not keep the focus: Enter would press it again instead of charging.
  keys.addEventListener("mousedown", (event) => event.preventDefault());

  /** A digit or a separator; after a while, or after coming back, the first of a new amount. */
  function press(keys) { apply(sums.type(isKept ? sums.emptySum() : draft.sum, keys, exponent, locale)); }

  function paste(text) { apply(sums.paste(isKept ? sums.emptySum() : draft.sum, text, exponent, locale)); }

  /** Takes over what a key made of the sum, and says what is wrong with it. */
  function apply({ sum, refused }) {
    if (button.isBusy || intents.pending()) return;
    set(sum);
    if (!refused) return;
    announce(t(`keypad.${refused}`));
    refill(waiting, notice("plain", t(`keypad.${refused}`)));
    shownPlight = null;
  }

  function set(sum) {
    if (button.isBusy || intents.pending()) return;
    clearTrouble();
    draft.sum = sum;
    if (bill() === "" && sum.wrong === null) draft.tip = null;
    isKept = false;
    waitForMore();
    remember();
    update();
  }

  /** Begins the time after which the amount counts as left behind. */
  function waitForMore() {
    clearTimeout(keptTimer);
    keptTimer = setTimeout(() => {
      isKept = !sums.isEmpty(draft.sum);
      if (!isGone) paint();
    }, KEPT_MILLISECONDS);
  }

  function chooseTip(choice) {
    if (button.isBusy || intents.pending()) return;
    clearTrouble();
    draft.tip = choice;
    remember();
    update();
  }

  /** Why what stands there cannot be charged, in words; null where it can. */
  function hindrance() {
    if (draft.sum.wrong !== null) return t(`keypad.${draft.sum.wrong}`);
    const { maximumMinor } = state.session;
    if (maximumMinor !== null && maximumMinor !== undefined && sums.isAbove(total(), maximumMinor)) {
      return t("keypad.aboveLimit", { limit: words(String(maximumMinor)) });
    }
    return state.session.tips?.mode === "ask" && bill() !== "" && draft.tip === null ? t("tips.choose") : null;
  }

  function clearTrouble() {
    refusal = null;
    refill(trouble);
    reference.setError(null);
    note.setError(null);
  }

  function paint() {
    const { wrong, text } = draft.sum;
    const isEmpty = bill() === "" && wrong === null;
    // What cannot be read stands there as it was typed.
    const all = wrong === null ? words(total()) : text.length > 24 ? `…${text.slice(-24)}` : text;
    if (amount.textContent !== all) amount.textContent = all;
    amount.dataset.length = all.length > 13 ? "huge" : all.length > 9 ? "long" : "short";
    amount.classList.toggle("is-empty", isEmpty);
    clear.hidden = sums.isEmpty(draft.sum);
    tape.show(draft.sum);
    kept.hidden = !isKept;
    tips.show(state.session.tips, wrong === null ? bill() : "", draft.tip);
    split.hidden = tip() === "0" || wrong !== null;
    split.textContent = split.hidden ? "" : t("tips.split", { amount: words(bill()), tip: words(tip()) });
    const why = isEmpty ? null : hindrance();
    button.setLabel(isEmpty ? t("keypad.buttonEmpty") : why ?? t("keypad.button", { amount: all }));
    button.element.disabled = isEmpty || why !== null || state.terminal?.phase === "starting";
  }

  function typedOnKeyboard(event) {
    if (event.ctrlKey || event.metaKey || event.altKey || document.querySelector("dialog[open]")) return;
    const isField = event.target.closest?.("input, select, textarea");
    if (event.key === "Enter" && !event.target.closest?.("a, button") && !event.repeat) {
      event.preventDefault();
      charge();
    } else if (isField) {
      return;
    } else if (event.key === "Backspace") {
      backspace();
    } else if (event.key === "+") {
      apply(sums.plus(draft.sum, exponent, locale));
    } else if (event.key === "-" && draft.sum.text === "" && draft.sum.lines.length > 0) {
      set(sums.without(draft.sum, draft.sum.lines.length - 1, exponent, locale));
    } else if (event.key === "*" || event.key === "x" || event.key === "×") {
      apply(sums.times(draft.sum, exponent, locale));
    } else if (event.key === "Escape") {
      set(sums.clearEntry(draft.sum));
    } else if (event.key === "Delete") {
      set(sums.emptySum());
    } else if (event.key.trim() === "") {
      // On a button a space is the button's; before an amount it is nothing.
      if (draft.sum.text === "" || event.target.closest?.("a, button")) return;
      event.preventDefault();
      press(event.key);
    } else if ([...event.key].length === 1) {
      // Whatever it is, it was typed: it is read with the rest, and what cannot be read is not charged.
      press(event.key);
    }
  }

  function pasted(event) {
    const text = event.clipboardData?.getData("text")?.trim() ?? "";
    if (text === "" || event.target.closest?.("input, select, textarea") || document.querySelector("dialog[open]")) return;
    event.preventDefault();
    paste(text);
  }

  function charge() {
    if (bill() === "" || draft.sum.wrong !== null || button.element.disabled || button.isBusy || intents.pending()) return;
    clearTrouble();
    // At most 12 digits: exact.
    open(intents.begin({
      amountMinor: Number(total()), currency: state.session.currency, reference: reference.value.trim(),
      note: note.value.trim(), tipMinor: takesTips() && draft.tip !== null ? Number(tip()) : null,
    }));
  }

  function open(intent) {
    element.classList.remove("is-asking");
    refill(trouble);
    button.during(async () => {
      const show = asking();
      const slow = setTimeout(() => refill(waiting, notice("plain", t("keypad.stillTrying"))), SLOW_MILLISECONDS);
      try {
        const opened = await intents.send(intent, {
          onRetry: () => refill(waiting, notice("plain", t("keypad.retrying"))),
          isOver: () => isGone,
        });
        forgetAmount();
        show(opened);
      } catch (error) {
        await explain(error, intent);
      } finally {
        clearTimeout(slow);
        refill(waiting);
      }
    });
  }

  async function explain(error, intent) {
    if (error.status === 401) return;
    if (error instanceof api.NoAnswer) {
      showOpenQuestion(intent);
    } else if (error.code === "busy") {
      arrival.note = t("keypad.busyElsewhere");
      try {
        await reattach();
      } catch {
        refusal = error;
        showRefusal();
      }
    } else {
      refusal = error;
      showRefusal();
    }
  }

  function showRefusal() {
    if (!refusal) return;
    const atNote = refusal.fields?.note ? problemText(refusal.fields.note) : null;
    if (atNote) {
      noteFold.open = true;
      note.setError(atNote);
      note.control.focus();
      return;
    }
    const atReference = refusal.fields?.reference ? problemText(refusal.fields.reference) : refusal.code.includes("reference") ? problemText(refusal) : null;
    reference.setError(atReference);
    if (atReference) reference.control.focus();
    else refill(trouble, notice("bad", refusal.message || t("keypad.notOpened"), refusal.action));
  }

  /** No answer after several tries: the cashier decides, knowing that trying again is safe. */
  function showOpenQuestion(intent) {
    const asked = words(String(intent.amountMinor));
    element.classList.add("is-asking");
    refill(
      trouble,
      h(
        "div", { class: "open-question" },
        notice("bad", t("keypad.noAnswer"), t("keypad.noAnswerDetail", { amount: asked })),
        h(
          "div", { class: "pair" },
          h("button", { class: "button", type: "button", on: { click: giveUp } }, t("keypad.giveUp")),
          h("button", { class: "button primary", type: "button", on: { click: () => open(intent) } }, t("keypad.tryAgain")),
        ),
      ),
    );
  }

  function giveUp() {
    intents.end();
    element.classList.remove("is-asking");
    refill(trouble);
    paint();
  }

  reference.control.addEventListener("input", () => {
    draft.reference = reference.value;
    remember();
    clearTrouble();
  });
  note.control.addEventListener("input", () => {
    draft.note = note.value;
    remember();
    clearTrouble();
  });
  button.element.addEventListener("click", charge);
  document.addEventListener("keydown", typedOnKeyboard);
  document.addEventListener("paste", pasted);

  const element = h(
    "section", { class: "keypad", "aria-labelledby": "keypad-title" },
    h("h1", { id: "keypad-title", class: "heard", tabindex: "-1" }, t("keypad.title")),
    tape.element,
    h("div", { class: "amount-line" }, h("div", { class: "amount-stack" }, amount, split, kept), clear),
    tips.element,
    h("div", { class: "reference" }, reference.element, noteFold),
    waiting,
    trouble,
    keys,
    button.element,
  );

  const left = intents.pending();
  if (left) {
    prefill(left);
    reference.value = draft.reference;
    note.value = draft.note;
    showOpenQuestion(left);
  } else {
    showRefusal();
  }

  function update() {
    paint();
    const { phase, gateway, gatewayPause, checking } = state.terminal ?? {};
    const plight =
      phase === "starting" ? t("keypad.starting", { count: checking ?? 0 }) :
      gateway === "unreachable" ? t("gateway.unreachableHint") :
      gateway === "clock" ? t("gateway.clockHint") :
      gateway === "paused" ? [gatewayPause?.message ?? t("gateway.paused"), gatewayPause?.action].filter(Boolean).join(" ") :
      gateway === "refused" ? t("gateway.refusedHint") : "";
    if (plight !== shownPlight && !button.isBusy) {
      shownPlight = plight;
      refill(waiting, plight ? notice("plain", plight) : null);
    }
  }

  return {
    element,
    update,
    end() {
      isGone = true;
      clearTimeout(keptTimer);
      document.removeEventListener("keydown", typedOnKeyboard);
      document.removeEventListener("paste", pasted);
    },
  };
}
