// What the shop's till has put on the screen: staff see it here, give the customer's answer, and take it off.

import { answerMessage, takeMessage } from "../api.js";
import { h } from "../dom.js";
import { toast } from "../form.js";
import { icon } from "../icons.js";
import { t } from "../strings.js";

/** One line above the page. The terminal's next event takes it away. */
export function messageLine({ id, title, text, options }) {
  const buttons = [
    ...options.map((option, index) => button(option, () => answerMessage(id, index))),
    button(t("message.take"), () => takeMessage(id)),
  ];

  function button(words, does) {
    return h("button", { class: "notice-link", type: "button", on: { click: async () => {
      for (const one of buttons) one.disabled = true;
      try {
        await does();
      } catch (error) {
        for (const one of buttons) one.disabled = false;
        if (error.status !== 401) toast(error.message, { isBad: true });
      }
    } } }, words);
  }

  return h(
    "li", { class: "banner till-message" }, icon("alert"),
    h("span", { class: "grow" }, t(options.length > 0 ? "message.asks" : "message.shows", { title }), text ? ` ${text}` : ""),
    h("span", { class: "till-message-answers" }, buttons),
  );
}
