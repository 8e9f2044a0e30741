// Days compared with the gateway: what agrees, what does not, and what to do about it.

import * as api from "../api.js";
import { announce, freshID, h, refill } from "../dom.js";
import { busyButton, notice } from "../form.js";
import { icon } from "../icons.js";
import { chargeAddress } from "../recent.js";
import { momentText } from "../shop-time.js";
import { t } from "../strings.js";

const ASK_AGAIN_MILLISECONDS = 700;

/** The page of compared days. */
export function daysView() {
  let chosen = null;
  let hasEnded = false;
  let timer = null;
  let asked = 0;

  const inputID = freshID("day");
  const input = h("input", { id: inputID, class: "input", type: "date", name: "day", required: true, on: { change: () => choose(input.value) } });
  const button = busyButton({ label: t("days.compare"), busyLabel: t("days.comparing"), className: "button wide", type: "button" });
  button.element.addEventListener("click", () => button.during(compare));
  const lead = h("p", { class: "lead" });
  const trouble = h("div", { class: "trouble", role: "alert" });
  const result = h("div", { class: "day-result" });
  const rows = h("ul", { class: "sessions" });
  const element = h(
    "section", { class: "page settings days", "aria-labelledby": "days-title" },
    h("a", { class: "back-link", href: "#/history" }, icon("left"), t("nav.history")),
    h("h1", { id: "days-title", tabindex: "-1" }, t("days.title")), lead, trouble,
    h("div", { class: "card day-choice" }, h("div", { class: "field" }, h("label", { for: inputID }, t("days.day")), input), button.element),
    result,
    h("section", { class: "card sessions-card", "aria-labelledby": "days-last" }, h("h2", { id: "days-last" }, t("days.last")), rows),
  );

  function fail(error) {
    if (hasEnded || error.status === 401) return;
    refill(trouble, notice("bad", t("days.failed"), error.message));
  }

  async function loadList() {
    try {
      const { today, timeZone, days } = await api.days();
      if (hasEnded) return;
      refill(lead, t("days.lead", { zone: timeZone }));
      input.setAttribute("max", today);
      refill(rows, days.map(row));
      if (!chosen) choose(days[1]?.day ?? today);
    } catch (error) {
      fail(error);
    }
  }

  function row(day) {
    const name = day.comparing ? "comparing" : day.allAgree === null ? "none" : day.allAgree ? "agree" : day.complete ? "differ" : "incomplete";
    const word = t(`days.states.${name}`);
    return h(
      "li", { class: "session", "data-state": name },
      h("div", { class: "session-words" }, h("span", { class: "session-name" }, picture(name), day.day), h("span", { class: "quiet small" }, word)),
      h("button", { class: "button", type: "button", "aria-label": t("days.heard", { day: day.day, state: word }), on: { click: () => show(day.day) } }, t("notice.show")),
    );
  }

  async function show(day) {
    await choose(day);
    element.querySelector("h1").focus();
  }

  async function choose(day) {
    if (!day) return;
    chosen = day;
    input.value = day;
    refill(trouble);
    await load({ isQuiet: true });
  }

  async function load({ isQuiet = false } = {}) {
    clearTimeout(timer);
    asked += 1;
    const mine = asked;
    try {
      const answer = await api.day(chosen);
      if (hasEnded || mine !== asked) return false;
      if (answer.comparing) {
        refill(result, h("p", { class: "quiet", role: "status" }, t("days.comparing")));
        timer = setTimeout(async () => { if (await load()) loadList(); }, ASK_AGAIN_MILLISECONDS);
        return false;
      }
      paint(answer.report);
      if (!isQuiet && answer.report) announce(answer.report.summary.message);
      return true;
    } catch (error) {
      fail(error);
      return false;
    }
  }

  async function compare() {
    refill(trouble);
    try {
      await api.compareDay(chosen);
      if (await load()) await loadList();
    } catch (error) {
      if (error.status !== 401) refill(trouble, notice("bad", error.message, error.action));
    }
  }

  function paint(report) {
    if (!report) {
      refill(result, h("p", { class: "quiet" }, t("days.never")));
      return;
    }
    const kind = report.allAgree ? "good" : "bad";
    refill(
      result, notice(kind, report.summary.message, report.summary.action),
      gaps(report),
      h("p", { class: "quiet small" }, t("days.comparedAt", { time: momentText(report.comparedAt) })),
      list("days.differences", report.differences, report.more, "days.more"),
      report.booked.length ? booked(report.booked) : null,
      list("days.notOurs", report.notOurs, report.moreNotOurs, "days.moreNotOurs"),
    );
  }

  function booked(ids) {
    return h(
      "section", { class: "card" }, h("h2", {}, t("days.booked")),
      h("ul", { class: "differences" }, ids.map((id) => h("li", {}, h("a", { class: "text-link", href: chargeAddress({ id }) }, t("days.showBooked"))))),
    );
  }

  loadList();
  return {
    element,
    update() {},
    end() {
      hasEnded = true;
      clearTimeout(timer);
    },
  };
}

/** What keeps a comparison from being complete, where its sentence does not say it already. */
function gaps({ gaps: found = [], summary }) {
  if (found.length === 0 || summary.message.includes(found[0].message)) return null;
  return h("ul", { class: "differences" }, found.map(({ message }) => h("li", {}, message)));
}

function picture(name) {
  return icon({ agree: "check", differ: "alert", incomplete: "question", none: "clock", comparing: "arrows" }[name]);
}

function list(title, differences, more, moreWords) {
  if (differences.length === 0) return null;
  return h(
    "section", { class: "card" }, h("h2", {}, t(title)),
    h("ul", { class: "differences" }, differences.map(difference)),
    more > 0 ? h("p", { class: "quiet" }, t(moreWords, { count: more })) : null,
  );
}

function difference({ message, action, chargeID, chargeCode, paymentID }) {
  return h(
    "li", { class: "difference" },
    h("p", { class: "strong" }, message), h("p", {}, action),
    paymentID ? h("p", { class: "quiet small code" }, t("days.payment", { id: paymentID })) : null,
    chargeID ? h("a", { class: "text-link", href: chargeAddress({ id: chargeID }) }, t("days.showCharge", { code: chargeCode })) : null,
  );
}
