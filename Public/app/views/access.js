// What lasts longer than a sign-in: whoever had the terminal before a new password may have made some of it.

import * as api from "../api.js";
import { ask } from "../dialog.js";
import { announce, h, refill } from "../dom.js";
import { busyButton, checkField, notice } from "../form.js";
import { momentText } from "../shop-time.js";
import { t } from "../strings.js";
import { deviceText } from "../who.js";

const KINDS = ["tokens", "webhooks", "browsers", "people"];

/** The card. `load()` asks the terminal; `focus()` leads there. */
export function accessCard() {
  const title = h("h2", { id: "access-title", tabindex: "-1" }, t("access.title"));
  const trouble = h("div", { class: "trouble", role: "alert" });
  const lists = h("div", { class: "stack" });
  const button = busyButton({ label: t("access.end"), busyLabel: t("access.ending"), className: "button wide", type: "button" });
  let ticks = [];

  function show(answer) {
    const kinds = KINDS.filter((kind) => answer[kind].length > 0);
    ticks = kinds.map((kind) => checkField(kind, { label: t(`access.${kind}`), help: "", checked: true }));
    refill(
      lists,
      kinds.length === 0
        ? h("p", { class: "quiet" }, t("access.none"))
        : kinds.map((kind, index) => h("div", { class: "access-kind" }, ticks[index].element, h("ul", { class: "sessions" }, answer[kind].map(row)))),
    );
    button.element.hidden = kinds.length === 0;
  }

  function row(one) {
    const time = momentText(one.createdAt);
    const name = one.name ?? one.url ?? one.person ?? t("access.counter");
    const role = one.role ? t(`roles.${one.role}`) : null;
    return h(
      "li", { class: "session" },
      h(
        "div", { class: "session-words" }, h("span", { class: "session-name" }, name),
        role || one.browser ? h("span", { class: "small" }, [role, one.browser ? deviceText(one) : null].filter(Boolean).join(" · ")) : null,
        h("span", { class: "quiet small" }, one.createdBy ? t("access.madeBy", { time, name: one.createdBy.replace(/^staff:/, "") }) : t("access.made", { time })),
      ),
    );
  }

  button.element.addEventListener("click", () => button.during(async () => {
    const kinds = ticks.filter((tick) => tick.checked).map((tick) => tick.name);
    if (kinds.length === 0) {
      refill(trouble, notice("plain", t("access.nothing")));
      return;
    }
    if (!await ask({ title: t("access.sure"), text: t("access.sureText"), yes: t("access.end"), no: t("access.keep"), isGrave: true })) return;
    refill(trouble);
    try {
      show(await api.endAccess(Object.fromEntries(kinds.map((kind) => [kind, true]))));
      announce(t("access.ended"));
    } catch (error) {
      if (error.status === 401) return;
      await load();
      refill(trouble, notice("bad", error.message, error.action));
    }
    title.focus();
  }));

  async function load() {
    try {
      show(await api.access());
      refill(trouble);
    } catch (error) {
      if (error.status === 401) return;
      refill(
        trouble, notice("bad", t("security.loadFailed"), error.message),
        h("button", { class: "button", type: "button", on: { click: load } }, t("trouble.retry")),
      );
    }
  }

  button.element.hidden = true;
  return {
    element: h("div", { class: "card sessions-card access-card" }, title, h("p", { class: "field-help" }, t("access.help")), trouble, lists, button.element),
    load,
    focus() {
      title.scrollIntoView({ block: "start" });
      title.focus();
    },
  };
}
