// The tip that staff add at the counter: a share of the amount, an amount of its own, or none.

import { ask } from "../dialog.js";
import { h, refill } from "../dom.js";
import { textField } from "../form.js";
import { minorDigits } from "../money.js";
import { state } from "../store.js";
import { t } from "../strings.js";
import { isAbove, percentOf } from "../sum.js";

/** A choice in minor units as digits. `{ percent }`, `{ minor }`, `{ none: true }`, or null while nothing is chosen. */
export function chosenTip(choice, bill) {
  if (!choice || choice.none || bill === "") return "0";
  return choice.percent ? percentOf(bill, choice.percent) : choice.minor;
}

/** `{ element, show(tips, bill, choice) }`; `onChoose` hears the new choice. */
export function tipRow({ words, onChoose }) {
  const element = h("div", { class: "tip-row", role: "group", "aria-label": t("tips.label"), hidden: true });
  let shown = null;

  function chip(name, label, isChosen, choice) {
    return h("button", {
      class: "chip", type: "button", "data-tip": name, "aria-pressed": String(isChosen),
      // The focus stays where it was: Enter charges.
      on: { mousedown: (event) => event.preventDefault(), click: choice },
    }, label);
  }

  async function other(tips, bill) {
    const field = textField("tip", { label: t("tips.amount"), attributes: { inputmode: "decimal", maxlength: 20 } });
    const most = percentOf(bill, tips.maximumPercent);
    const typed = () => minorDigits(field.value, state.session.currencyExponent, state.session.locale);
    const yes = await ask({
      title: t("tips.otherTitle"), text: t("tips.otherText", { most: words(most) }), yes: t("tips.take"), no: t("tips.leave"), extra: field.element,
      check() {
        const digits = typed();
        const isBad = digits === null;
        if (isBad || isAbove(digits, most)) {
          field.setError(t(isBad ? "tips.bad" : "tips.tooMuch", { most: words(most) }));
          field.control.focus();
          return false;
        }
        return true;
      },
    });
    if (!yes) return;
    const minor = typed();
    onChoose(isAbove(minor, "0") ? { minor } : { none: true });
  }

  return {
    element,
    show(tips, bill, choice) {
      const now = JSON.stringify([tips, bill, choice]);
      if (now === shown) return;
      shown = now;
      element.hidden = !tips || tips.mode === "none" || bill === "";
      if (element.hidden) return;
      const presets = tips.presets.filter((percent) => percent <= tips.maximumPercent);
      refill(
        element, h("span", { class: "tip-label", "aria-hidden": "true" }, t("tips.label")),
        chip("none", t("tips.none"), choice?.none === true, () => onChoose({ none: true })),
        presets.map((percent) => chip(String(percent), t("tips.percent", { percent }), choice?.percent === percent, () => onChoose({ percent }))),
        chip("other", choice?.minor ? words(choice.minor) : t("tips.other"), Boolean(choice?.minor), () => other(tips, bill)),
      );
    },
  };
}
