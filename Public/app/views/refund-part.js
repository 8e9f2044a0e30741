// Refunds on the page of a charge: what staff gave back, and the form to write another one down.

import * as api from "../api.js";
import { personText } from "../charge-words.js";
import { ask } from "../dialog.js";
import { h, refill } from "../dom.js";
import { busyButton, notice, textField } from "../form.js";
import { amountText, fieldText, minorDigits } from "../money.js";
import { beginRefund, endRefund, pendingRefund, sendRefund } from "../refund-intent.js";
import { state } from "../store.js";
import { hasWords, t } from "../strings.js";
import { isAbove } from "../sum.js";

const LONGEST_REASON = 200;

/** The refunds of a charge, with buttons for those who may give money back; null where there is nothing to say. */
export function refundPart(charge, { onChanged }) {
  const refunds = charge.refunds ?? [];
  const mayRefund = ["owner", "manager"].includes(state.session?.role);
  const payments = mayRefund ? (charge.payments ?? []).filter((payment) => payment.leftMinor > 0) : [];
  const open = mayRefund ? pendingRefund(charge.id) : null;
  if (refunds.length === 0 && payments.length === 0 && !open) return null;
  const trouble = h("div", { class: "trouble", role: "alert" });

  async function run(button, call) {
    await button.during(async () => {
      refill(trouble);
      try {
        await call();
        await onChanged();
      } catch (error) {
        const left = pendingRefund(charge.id);
        if (left && error instanceof api.NoAnswer) showOpenQuestion(left);
        else if (error.status !== 401) refill(trouble, notice("bad", error.message, error.action));
        if (error.code === "refund_denied") await onChanged();
      }
    });
  }

  const openers = open ? [] : payments.filter((payment) => !payment.refundAsked).map(openButton);

  /** No answer after several tries: staff decide, knowing that trying again is safe. */
  function showOpenQuestion(intent) {
    // Until it is settled no other is offered: it could be the same money.
    for (const button of openers) button.hidden = true;
    const again = busyButton({ label: t("keypad.tryAgain"), busyLabel: t("refund.busy"), className: "button primary", type: "button" });
    again.element.addEventListener("click", () => run(again, () => sendRefund(intent)));
    const giveUp = h("button", { class: "button", type: "button", on: { click: () => { endRefund(); refill(trouble); onChanged(); } } }, t("refund.giveUp"));
    refill(
      trouble,
      h(
        "div", { class: "open-question" }, notice("bad", t("refund.noAnswer"), t("refund.noAnswerDetail", { amount: intent.amountText })),
        h("div", { class: "pair" }, giveUp, again.element),
      ),
    );
  }

  function openButton(payment) {
    const label = payment.surplus ? "refund.openSurplus" : "refund.open";
    const button = busyButton({ label: t(label, { amount: payment.leftText }), busyLabel: t("refund.busy"), className: "button", type: "button" });
    button.element.addEventListener("click", async () => {
      const wish = await askForRefund(charge, payment);
      if (wish) await run(button, () => sendRefund(beginRefund(charge.id, { attempt: payment.attempt, ...wish })));
    });
    return button.element;
  }

  function againButton() {
    const button = busyButton({ label: t("refund.again"), busyLabel: t("refund.busy"), className: "button", type: "button" });
    button.element.addEventListener("click", () => run(button, () => api.refundAgain(charge.id)));
    return button.element;
  }

  const isAsked = refunds.some((refund) => refund.mark === null);
  if (open) showOpenQuestion(open);
  return h(
    "section", { class: "card refund-part", "aria-labelledby": "refund-title" },
    h("h2", { id: "refund-title" }, t("refund.title")),
    refunds.length > 0 ? h("ul", { class: "refund-list" }, refunds.map(line)) : null,
    openers.length > 0 ? h("p", { class: "quiet" }, t("refund.lead")) : null,
    openers,
    isAsked && mayRefund ? againButton() : null,
    trouble,
  );
}

function line({ amountText, reason, by, mark }) {
  const key = `refund.marks.${mark ?? "asked"}`;
  return h(
    "li", { class: "refund-line", "data-mark": mark ?? "asked" },
    h("p", {}, h("strong", {}, amountText), ` · ${reason}`),
    h("p", { class: "quiet small" }, `${personText(by)} · ${hasWords(key) ? t(key) : mark}`),
  );
}

/** What of the payment goes back and why, after saying what that does and does not do. `{ amountMinor, reason }` or null. */
async function askForRefund(charge, payment) {
  const { currencyExponent: exponent, locale } = state.session;
  const { currency } = charge;
  const whole = String(payment.leftMinor);
  const amount = textField("amount", { label: t("refund.amount"), value: fieldText(whole, exponent, locale), attributes: { inputmode: "decimal", maxlength: 20 } });
  const reason = textField("reason", { label: t("refund.reason"), attributes: { maxlength: LONGEST_REASON } });
  const yes = await ask({
    title: t("refund.askTitle", { amount: payment.leftText }), text: t("refund.askText"), yes: t("refund.yes"), no: t("refund.no"), isGrave: true,
    extra: h("div", { class: "refund-fields" }, h("p", { class: "quiet" }, t("refund.partText")), amount.element, reason.element),
    check() {
      const digits = minorDigits(amount.value, exponent, locale);
      const isBad = digits === null || !isAbove(digits, "0") || isAbove(digits, whole);
      amount.setError(isBad ? t("refund.badAmount", { most: payment.leftText }) : null);
      const isSilent = reason.value.trim() === "";
      reason.setError(isSilent ? t("refund.noReason") : null);
      if (isBad) amount.control.focus();
      else if (isSilent) reason.control.focus();
      return !isBad && !isSilent;
    },
  });
  if (!yes) return null;
  const digits = minorDigits(amount.value, exponent, locale);
  return { amountMinor: Number(digits), amountText: amountText(digits, { currency, exponent, locale }), reason: reason.value.trim() };
}
