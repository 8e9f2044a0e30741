// A charge's receipt, on the page of the charge: on paper, in a tab of its own, or as text.

import * as api from "../api.js";
import { h, refill } from "../dom.js";
import { busyButton, notice, toast } from "../form.js";
import { t } from "../strings.js";

export function receiptPart(charge) {
  const trouble = h("div", { class: "trouble", role: "alert" });
  const print = busyButton({ label: t("receipt.print"), busyLabel: t("receipt.printing"), className: "button", type: "button" });
  const copy = h("button", { class: "button", type: "button", on: { click: copyText } }, t("receipt.copy"));
  print.element.addEventListener("click", () => print.during(async () => {
    refill(trouble);
    try {
      const { outcome } = await api.printReceipt(charge.id);
      toast(t(`receipts.outcomes.${outcome}`));
    } catch (error) {
      say(error);
    }
  }));

  async function copyText() {
    refill(trouble);
    let text;
    try {
      text = await api.receiptText(charge.id);
    } catch (error) {
      say(error);
      return;
    }
    try {
      await navigator.clipboard.writeText(text);
      toast(t("receipt.copied"));
    } catch {
      refill(trouble, notice("bad", t("receipt.copyFailed"), t("receipt.copyFailedAction")));
    }
  }

  function say(error) {
    if (error.status !== 401) refill(trouble, notice("bad", error.message, error.action));
  }

  // The receipt that should have come by itself.
  if (charge.receiptTrouble) refill(trouble, notice("bad", charge.receiptTrouble.message, charge.receiptTrouble.action));

  return h(
    "section", { class: "card receipt-part", "aria-labelledby": "receipt-title" },
    h("h2", { id: "receipt-title" }, t("receipt.title")),
    h(
      "div", { class: "receipt-buttons" }, print.element,
      h("a", { class: "button", href: api.receiptAddress(charge.id, "html"), target: "_blank", rel: "noopener" }, t("receipt.open")),
      h("a", { class: "button", href: api.receiptAddress(charge.id, "pdf"), target: "_blank", rel: "noopener" }, t("receipt.document")),
      copy,
    ),
    trouble,
  );
}
