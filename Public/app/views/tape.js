// The entries of a sum, as on a till's paper: what was added up, and what is being typed.

import { h, refill } from "../dom.js";
import { icon } from "../icons.js";
import { t } from "../strings.js";
import { lineDigits } from "../sum.js";

/** `{ element, show(sum) }`. `words` writes an amount, `onRemove` hears the number of an entry to be taken out. */
export function tapeView({ words, onRemove }) {
  const list = h("ol", { class: "tape-lines" });
  const element = h("div", { class: "tape", role: "group", "aria-label": t("keypad.tape"), hidden: true }, list);
  let shown = null;

  function factor(line) { return line.times ? `${line.times} × ` : ""; }

  function row(line, index) {
    const text = `${factor(line)}${words(line.digits)}`;
    return h(
      "li", { class: "tape-line" },
      h("span", { class: "tape-what" }, text),
      line.times ? h("span", { class: "tape-sum" }, words(lineDigits(line))) : null,
      h("button", {
        class: "tape-remove", type: "button", "aria-label": t("keypad.remove", { entry: text }),
        on: { mousedown: (event) => event.preventDefault(), click: () => onRemove(index) },
      }, icon("cross")),
    );
  }

  return {
    element,
    show(sum) {
      const now = JSON.stringify(sum);
      if (now === shown) return;
      shown = now;
      // One amount alone stands large below already.
      element.hidden = sum.lines.length === 0 && sum.times === "";
      const typing = { times: sum.times, digits: sum.digits };
      const isTyping = sum.times !== "" || sum.text !== "";
      refill(
        list, sum.lines.map(row),
        isTyping ? h("li", { class: "tape-line is-typing" }, h("span", { class: "tape-what" }, `${factor(typing)}${sum.wrong === null ? words(sum.digits) : sum.text}`),
          sum.times && sum.wrong === null ? h("span", { class: "tape-sum" }, words(lineDigits(typing))) : null) : null,
      );
      list.scrollTop = list.scrollHeight;
    },
  };
}
