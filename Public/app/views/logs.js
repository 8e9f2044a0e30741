// The program's last log lines, newest first.

import * as api from "../api.js";
import { h, refill } from "../dom.js";
import { choiceField, notice, textField } from "../form.js";
import { icon } from "../icons.js";
import { momentText } from "../shop-time.js";
import { t } from "../strings.js";

const LEVELS = ["trace", "notice", "warning", "error"];
const WEIGHTS = { warning: "note", error: "bad", critical: "bad" };
const PAUSE_MILLISECONDS = 250;

/** The page. */
export function logsView() {
  let [asked, timer, hasEnded] = [0, null, false];
  const level = choiceField("level", { label: t("logs.level"), value: "trace", groups: [[null, LEVELS.map((name) => [name, t(`logs.levels.${name}`)])]] });
  const search = textField("q", { label: t("history.search"), attributes: { type: "search", maxlength: 100, enterkeyhint: "search" } });
  const list = h("ol", { class: "log-lines", "aria-label": t("logs.title") });
  const status = h("p", { class: "quiet", role: "status" }, t("history.loading"));
  const trouble = h("div", { class: "trouble", role: "alert" });
  const more = h("button", { class: "button wide", type: "button", hidden: true, on: { click: () => load({ older: true }) } }, t("logs.more"));
  const refresh = h("button", { class: "button", type: "button", on: { click: () => load() } }, t("logs.again"));
  const element = h(
    "section", { class: "page settings logs", "aria-labelledby": "logs-title" },
    h("a", { class: "back-link", href: "#/health" }, icon("left"), t("health.title")),
    h("h1", { id: "logs-title", tabindex: "-1" }, t("logs.title")),
    h("p", { class: "lead" }, t("logs.lead")),
    h("div", { class: "pair" }, level.element, search.element), refresh, trouble, status, list, more,
  );
  level.control.addEventListener("change", () => load());
  search.control.addEventListener("input", () => {
    clearTimeout(timer);
    timer = setTimeout(load, PAUSE_MILLISECONDS);
  });
  let last = null;

  async function load({ older = false } = {}) {
    asked += 1;
    const mine = asked;
    refill(trouble);
    try {
      const answer = await api.logs({ level: level.value, q: search.value.trim(), before: older ? last : null, limit: 200 });
      if (hasEnded || mine !== asked) return;
      last = answer.lines.at(-1)?.number ?? last;
      more.hidden = answer.lines.length < 200;
      const rows = answer.lines.map((line) => row(line, answer.timeZone));
      if (older) list.append(...rows); else refill(list, rows);
      status.textContent = list.children.length === 0 ? t("logs.empty") : t("logs.zone", { zone: answer.timeZone });
    } catch (error) {
      if (hasEnded || mine !== asked || error.status === 401) return;
      refill(trouble, notice("bad", t("logs.failed"), error.message));
    }
  }
  load();
  return { element, update() {}, end() { hasEnded = true; clearTimeout(timer); } };
}

function row({ at, level, text }, timeZone) {
  const weight = WEIGHTS[level] ?? "off";
  return h(
    "li", { class: `log-line weight-${weight}` },
    h("p", { class: "quiet small" }, h("time", { datetime: at }, momentText(at, timeZone ?? undefined)), " · ", h("span", { class: "log-level" }, t(`logs.names.${level}`))),
    h("p", { class: "log-text", translate: "no" }, text),
  );
}

