// The keypad: composes an amount and asks the terminal to charge it.

import * as api from "../api.js";
import { follow, reattach } from "../following.js";
import { announce, h, refill } from "../dom.js";
import { busyButton, notice, textField } from "../form.js";
import { icon } from "../icons.js";
import * as intents from "../intent.js";
import { amountText, LONGEST_AMOUNT, typed } from "../money.js";
import { lastChargeStrip } from "../recent.js";
import { state } from "../store.js";
import { t } from "../strings.js";

/** What is being typed. Kept while other pages, a sign-in or somebody else's charge come in between. */
const draft = { digits: "", reference: "" };

/** Forgets what was typed, when somebody signs out. */
export function forgetAmount() { Object.assign(draft, { digits: "", reference: "" }); }

/** Puts an amount on the keypad, to charge it again. */
export function prefill(charge) {
  Object.assign(draft, { digits: String(charge.amountMinor), reference: charge.reference ?? "" });
}

/** The words for a charge that was refused, kept for the keypad that comes after a sign-in or another view. */
let refusal = null;

/** Told to the running charge's view when the terminal was busy with it. */
export const arrival = { note: null };

export function keypadView() {
  let isGone = false;
  const money = () => ({
    currency: state.session.currency, exponent: state.session.currencyExponent, locale: state.session.locale,
  });
  const text = () => amountText(draft.digits, money());

  const amount = h("output", { class: "amount", "aria-label": t("keypad.amount"), "aria-live": "polite", "aria-atomic": "true" });
  const clear = h("button", { class: "clear", type: "button", on: { click: () => set("") } }, t("keypad.clear"));
  const reference = textField("reference", { label: t("keypad.reference"), value: draft.reference });
  const button = busyButton({ label: "", busyLabel: t("keypad.busy"), className: "button primary charge-button", type: "button" });
  const trouble = h("div", { class: "trouble", role: "alert" });
  const waiting = h("div", { class: "waiting", role: "status" });
  const strip = h("div", { class: "strip-place" });
  const keys = h("div", { class: "keys", role: "group", "aria-label": t("keypad.keys") }, [..."123456789"].map(key), key("00"), key("0"), backspaceKey());

  function key(digits) {
    return h("button", { class: "key", type: "button", "aria-label": digits === "00" ? t("keypad.doubleZero") : null, on: { click: () => press(digits) } }, digits);
  }

  function backspaceKey() {
    return h("button", { class: "key key-quiet", type: "button", "aria-label": t("keypad.backspace"), on: { click: () => set(draft.digits.slice(0, -1)) } }, icon("backspace"));
  }

  // A key that was tapped must not keep the focus: Enter would press it again instead of charging.
  keys.addEventListener("mousedown", (event) => event.preventDefault());

  function press(digits) {
    const longer = typed(draft.digits, digits);
    if (longer === draft.digits && draft.digits.length + digits.length > LONGEST_AMOUNT) announce(t("keypad.tooLong"));
    set(longer);
  }

  function set(digits) {
    if (button.isBusy || intents.pending()) return;
    if (digits !== draft.digits) clearTrouble();
    draft.digits = digits;
    paint();
  }

  function clearTrouble() {
    refusal = null;
    refill(trouble);
    reference.setError(null);
  }

  function paint() {
    const isEmpty = draft.digits === "";
    const words = text();
    if (amount.textContent !== words) amount.textContent = words;
    amount.dataset.length = words.length > 13 ? "huge" : words.length > 9 ? "long" : "short";
    amount.classList.toggle("is-empty", isEmpty);
    clear.hidden = isEmpty;
    button.setLabel(isEmpty ? t("keypad.buttonEmpty") : t("keypad.button", { amount: words }));
    button.element.disabled = isEmpty || state.terminal?.phase === "starting";
  }

  function typedOnKeyboard(event) {
    if (event.ctrlKey || event.metaKey || event.altKey || document.querySelector("dialog[open]")) return;
    const isField = event.target.closest?.("input, select, textarea");
    if (event.key === "Enter" && !event.target.closest?.("a, button") && !event.repeat) {
      event.preventDefault();
      charge();
    } else if (isField) {
      return;
    } else if (/^[0-9]$/.test(event.key)) {
      press(event.key);
    } else if (event.key === "Backspace") {
      set(draft.digits.slice(0, -1));
    } else if (event.key === "Escape" || event.key === "Delete") {
      set("");
    }
  }

  function charge() {
    if (draft.digits === "" || button.element.disabled || button.isBusy || intents.pending()) return;
    clearTrouble();
    // At most 11 digits: exact.
    open(intents.begin({ amountMinor: Number(draft.digits), currency: state.session.currency, reference: reference.value.trim() }));
  }

  function open(intent) {
    element.classList.remove("is-asking");
    refill(trouble);
    button.during(async () => {
      try {
        const opened = await intents.send(intent, {
          onRetry: () => refill(waiting, notice("plain", t("keypad.retrying"))),
          isOver: () => isGone,
        });
        forgetAmount();
        follow(opened);
      } catch (error) {
        await explain(error, intent);
      } finally {
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
    const atReference = refusal.fields?.reference?.message ?? (refusal.code.includes("reference") ? refusal.message : null);
    reference.setError(atReference);
    if (atReference) reference.control.focus();
    else refill(trouble, notice("bad", refusal.message || t("keypad.notOpened"), refusal.action));
  }

  /** No answer after several tries: the cashier decides, knowing that trying again is safe. */
  function showOpenQuestion(intent) {
    const words = amountText(String(intent.amountMinor), money());
    element.classList.add("is-asking");
    refill(
      trouble,
      h(
        "div", { class: "open-question" },
        notice("bad", t("keypad.noAnswer"), t("keypad.noAnswerDetail", { amount: words })),
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
    clearTrouble();
  });
  button.element.addEventListener("click", charge);
  document.addEventListener("keydown", typedOnKeyboard);

  const element = h(
    "section", { class: "keypad", "aria-labelledby": "keypad-title" },
    h("h1", { id: "keypad-title", class: "heard", tabindex: "-1" }, t("keypad.title")),
    strip,
    h("div", { class: "amount-line" }, amount, clear),
    h("div", { class: "reference" }, reference.element),
    waiting,
    trouble,
    keys,
    button.element,
  );

  const left = intents.pending();
  if (left) {
    Object.assign(draft, { digits: String(left.amountMinor), reference: left.reference });
    reference.value = left.reference;
    showOpenQuestion(left);
  } else {
    showRefusal();
  }

  let shownRecent;
  let shownPlight;
  return {
    element,
    update() {
      paint();
      if (state.recent !== shownRecent) {
        shownRecent = state.recent;
        refill(strip, lastChargeStrip(shownRecent));
      }
      const { phase, gateway, checking } = state.terminal ?? {};
      const plight =
        phase === "starting" ? t("keypad.starting", { count: checking ?? 0 }) :
        gateway === "unreachable" ? t("gateway.unreachableHint") :
        gateway === "refused" ? t("gateway.refusedHint") : "";
      if (plight !== shownPlight && !button.isBusy) {
        shownPlight = plight;
        refill(waiting, plight ? notice("plain", plight) : null);
      }
    },
    end() {
      isGone = true;
      document.removeEventListener("keydown", typedOnKeyboard);
    },
  };
}
