// The audit log: who did what, when, from where, and whether it was allowed; and whether anybody changed it since.

import * as api from "../api.js";
import { h, refill } from "../dom.js";
import { busyButton, choiceField, notice, textField } from "../form.js";
import { icon } from "../icons.js";
import { momentText } from "../shop-time.js";
import { hasWords, t } from "../strings.js";

const KINDS = ["staff", "till", "customer", "terminal", "stranger"];
const RESULTS = ["ok", "refused", "failed"];
const PAUSE_MILLISECONDS = 250;
/** Answers that found nothing and go on: each looks at tens of thousands of entries. */
const MOST_EMPTY_ANSWERS = 100;

/** The page. */
export function auditView() {
  let [asked, timer, hasEnded, next] = [0, null, false, null];
  const choice = (name, values, any) => choiceField(name, {
    label: t(`audit.${name}`), value: "", groups: [[null, [["", any], ...values.map((value) => [value, t(`audit.${name}s.${value}`)])]]],
  });
  const who = choice("who", KINDS, t("audit.anybody"));
  const result = choice("result", RESULTS, t("audit.anyResult"));
  const what = textField("what", { label: t("audit.what"), help: t("audit.whatHelp"), attributes: { maxlength: 60, autocapitalize: "none" } });
  const search = textField("q", { label: t("history.search"), help: t("audit.searchHelp"), attributes: { type: "search", maxlength: 100, enterkeyhint: "search" } });
  const from = textField("from", { label: t("history.from"), attributes: { type: "date" } });
  const to = textField("to", { label: t("history.to"), attributes: { type: "date" } });
  const fields = [who, result, what, search, from, to];
  for (const field of fields) {
    field.control.addEventListener("input", () => {
      clearTimeout(timer);
      timer = setTimeout(load, PAUSE_MILLISECONDS);
    });
  }

  const list = h("ol", { class: "log-lines", "aria-label": t("audit.title") });
  const status = h("p", { class: "quiet", role: "status" }, t("history.loading"));
  const trouble = h("div", { class: "trouble", role: "alert" });
  const more = h("button", { class: "button wide", type: "button", hidden: true, on: { click: () => load({ older: true }) } }, t("audit.more"));
  const element = h(
    "section", { class: "page settings audit", "aria-labelledby": "audit-title" },
    h("a", { class: "back-link", href: "#/settings" }, icon("left"), t("settings.title")),
    h("h1", { id: "audit-title", tabindex: "-1" }, t("audit.title")),
    h("p", { class: "lead" }, t("audit.lead")),
    verification(),
    h(
      "details", { class: "card narrow" }, h("summary", {}, t("history.narrow"), icon("right")),
      h("div", { class: "narrow-fields" }, fields.map((field) => field.element)),
    ),
    trouble, status, list, more,
  );

  async function load({ older = false } = {}) {
    asked += 1;
    const mine = asked;
    refill(trouble);
    for (const field of fields) field.setError(null);
    const query = Object.fromEntries(fields.map((field) => [field.name, field.value.trim()]));
    try {
      let page = null;
      let before = older ? next : null;
      for (let count = 0; count < MOST_EMPTY_ANSWERS; count += 1) {
        page = await api.audit({ ...query, before, limit: 50 });
        if (hasEnded || mine !== asked) return;
        if (page.entries.length > 0 || !page.next) break;
        before = page.next;
        status.textContent = t("history.looking");
      }
      next = page.next;
      more.hidden = !next;
      const rows = page.entries.map((entry) => row(entry, page.timeZone));
      if (older) list.append(...rows); else refill(list, rows);
      status.textContent = list.children.length === 0 ? t("audit.empty") : t("logs.zone", { zone: page.timeZone });
    } catch (error) {
      if (hasEnded || mine !== asked || error.status === 401) return;
      for (const field of fields) {
        const reason = error.fields?.[field.name];
        if (reason) field.setError(`${reason.message} ${reason.action}`);
      }
      if (Object.keys(error.fields ?? {}).length === 0) refill(trouble, notice("bad", t("audit.failed"), error.message));
    }
  }
  load();
  return { element, update() {}, end() { hasEnded = true; clearTimeout(timer); } };
}

/** The check of the whole chain, and the ways to take it along. */
function verification() {
  const outcome = h("div", { class: "tested", role: "status" });
  const verify = busyButton({ label: t("audit.verify"), busyLabel: t("audit.verifying"), className: "button", type: "button" });
  verify.element.addEventListener("click", () => verify.during(async () => {
    refill(outcome);
    try {
      const answer = await api.verifyAudit();
      refill(
        outcome,
        answer.intact
          ? notice(
            "good", t("audit.intact", { count: answer.entries }),
            [answer.takenOver > 0 ? t("audit.takenOver", { count: answer.takenOver }) : "", t("audit.head", { head: answer.head })].join(" ").trim(),
          )
          : notice("bad", t("audit.broken", { entry: answer.brokenAt }), t("audit.brokenHelp", { reason: faultText(answer), count: answer.entries })),
      );
    } catch (error) {
      if (error.status !== 401) refill(outcome, notice("bad", error.message, error.action));
    }
  }));
  return h(
    "section", { class: "card audit-proof", "aria-labelledby": "audit-proof" },
    h("h2", { id: "audit-proof" }, t("audit.proof")), h("p", { class: "quiet" }, t("audit.proofHelp")), outcome,
    h(
      "div", { class: "narrow-end" }, verify.element,
      h("a", { class: "text-link", href: api.auditAddress("csv"), download: "" }, t("history.csv")),
      h("a", { class: "text-link", href: api.auditAddress("json"), download: "" }, t("history.json")),
    ),
  );
}

function row(entry, timeZone) {
  if (!entry.intact || !entry.at) {
    return h("li", { class: "log-line weight-bad" }, h("p", { class: "strong" }, t("audit.changed", { entry: entry.seq })));
  }
  const weight = { ok: "off", refused: "note" }[entry.result] ?? "bad";
  return h(
    "li", { class: `log-line weight-${weight}` },
    h("p", {}, h("span", { class: "strong" }, words("whats", entry.what)), " · ", words("results", entry.result)),
    entry.detail ? h("p", { class: "log-text", translate: "no" }, entry.detail) : null,
    h("p", { class: "quiet small" }, h("time", { datetime: entry.at }, momentText(entry.at, timeZone ?? undefined)), ` · ${actor(entry.who)} · ${entry.from} · ${entry.seq}`),
  );
}

/** `staff:Ada` as “Ada”, `stranger` as “Somebody not signed in”. */
function actor(who) {
  const [kind, ...name] = who.split(":");
  return name.length > 0 ? name.join(":") : words("whos", kind);
}

function words(group, name) {
  const key = `audit.${group}.${name.replaceAll(/[. ]/g, "_")}`;
  return hasWords(key) ? t(key) : name;
}

/** What is wrong with the entry, in words. */
function faultText({ fault, reason }) {
  const key = `audit.faults.${fault}`;
  return hasWords(key) ? t(key) : reason;
}
