// How long the terminal waits for what, when a phone pays: for installers of a place with a slow radio or network.

import { h } from "../dom.js";
import { textField } from "../form.js";
import { t } from "../strings.js";

/** In the order in which a payment meets them. */
const ORDER = [
  "scan", "listen", "connect", "discover", "hello", "received", "fragmentGap", "keepAlive", "acknowledge", "fresh", "probe",
  "execute", "executeByPhone", "recover", "submission",
];

const secondsOf = (milliseconds) => String(milliseconds / 1000);

/** Whole milliseconds in what was typed as seconds; null where it is no such number. */
function millisecondsOf(text) {
  const match = /^(\d{1,4})(?:[.,](\d{1,3}))?$/.exec(text.trim());
  return match ? Number(match[1]) * 1000 + Number((match[2] ?? "").padEnd(3, "0")) : null;
}

/** The fields for `times`: each with `milliseconds`, `usual`, `least` and `most`. */
export function phoneTimes(times) {
  const names = ORDER.filter((name) => times[name]);
  const fields = names.map((name) => textField(`times.${name}`, {
    label: t(`phones.times.${name}`), value: secondsOf(times[name].milliseconds), attributes: { inputmode: "decimal" },
    help: t("phones.times.bounds", { least: secondsOf(times[name].least), most: secondsOf(times[name].most), usual: secondsOf(times[name].usual) }),
  }));
  const usual = h("button", { class: "button", type: "button" }, t("phones.times.reset"));
  usual.addEventListener("click", () => fields.forEach((field, index) => {
    field.value = secondsOf(times[names[index]].usual);
    field.setError(null);
  }));
  return {
    fields,
    element: h(
      "div", { class: "phone-times", hidden: names.length === 0 },
      h("h2", {}, t("phones.times.title")), h("p", { class: "field-help" }, t("phones.times.lead")),
      h("div", { class: "pair" }, fields.map((field) => field.element)), usual,
    ),
    /** What differs from what is stored, in milliseconds by name; null where a field is no time, which is said there. */
    changed() {
      const changed = {};
      let isGood = true;
      fields.forEach((field, index) => {
        const { [names[index]]: time } = times;
        // Empty is the usual one.
        const value = field.value.trim() === "" ? time.usual : millisecondsOf(field.value);
        const fits = value !== null && value >= time.least && value <= time.most;
        field.setError(fits ? null : t("phones.times.error", { least: secondsOf(time.least), most: secondsOf(time.most) }));
        if (!fits) isGood = false;
        else if (value !== time.milliseconds) changed[names[index]] = value;
      });
      return isGood ? changed : null;
    },
  };
}
