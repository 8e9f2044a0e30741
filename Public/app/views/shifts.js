// Shifts: one's own, and those of everybody for who may see them; each with what it came to, to print and to take along.

import * as api from "../api.js";
import { personText } from "../charge-words.js";
import { ask } from "../dialog.js";
import { h, refill } from "../dom.js";
import { busyButton, notice, textField } from "../form.js";
import { icon } from "../icons.js";
import { chargeRow } from "../recent.js";
import { momentText } from "../shop-time.js";
import { state } from "../store.js";
import { t } from "../strings.js";
import { ofCurrency } from "./totals.js";

/** The page of shifts. */
export function shiftsView() {
  let hasEnded = false;
  let asked = 0;
  let chosen = null;
  let lastEvent = "";
  const mine = h("section", { class: "card shift-mine", "aria-labelledby": "shift-mine-title" });
  const trouble = h("div", { class: "trouble", role: "alert" });
  const from = textField("from", { label: t("totals.from"), attributes: { type: "date" } });
  const to = textField("to", { label: t("totals.to"), attributes: { type: "date" } });
  for (const field of [from, to]) field.control.addEventListener("change", loadList);
  const list = h("div", { class: "shift-list" });
  const detail = h("div", { class: "shift-detail", tabindex: "-1" });
  const element = h(
    "section", { class: "page settings totals shifts", "aria-labelledby": "shifts-title" },
    h("a", { class: "back-link", href: "#/history" }, icon("left"), t("nav.history")),
    h("h1", { id: "shifts-title", tabindex: "-1" }, t("shifts.title")), h("p", { class: "lead" }, t("shifts.lead")),
    trouble, mine, detail, h("div", { class: "pair shift-days" }, from.element, to.element), list,
  );

  function say(error) {
    if (!hasEnded && error.status !== 401) refill(trouble, notice("bad", error.message, error.action));
  }

  async function loadMine() {
    try {
      const { shift } = await api.currentShift();
      if (!hasEnded) paintMine(shift);
    } catch (error) {
      say(error);
    }
  }

  function paintMine(shift) {
    if (!shift) {
      const open = busyButton({ label: t("shifts.open"), busyLabel: t("shifts.opening"), className: "button", type: "button" });
      open.element.addEventListener("click", () => open.during(async () => {
        try {
          await api.openShift();
          await loadAll();
        } catch (error) {
          say(error);
        }
      }));
      refill(mine, h("h2", { id: "shift-mine-title" }, t("shifts.mine")), h("p", { class: "quiet" }, t("shifts.none")), open.element);
      return;
    }
    refill(mine, h("h2", { id: "shift-mine-title" }, t("shifts.mine")), h("p", {}, t("shifts.openSince", { time: momentText(shift.openedAt) })), sums(shift), closeButton(shift));
  }

  function closeButton(shift) {
    const button = busyButton({ label: t("shifts.close"), busyLabel: t("shifts.closing"), className: "button", type: "button" });
    button.element.addEventListener("click", async () => {
      const unknown = shift.open > 0 ? ` ${t("shifts.closeUnknown", { count: shift.open })}` : "";
      const yes = await ask({
        title: t("shifts.closeTitle", { who: personText(shift.person) }), text: t("shifts.closeText") + unknown,
        yes: t("shifts.closeYes"), no: t("shifts.closeNo"), isGrave: true,
      });
      if (!yes) return;
      await button.during(async () => {
        try {
          const { shift: closed } = await api.closeShift(shift.number);
          await loadAll();
          paintDetail(closed);
          detail.focus();
        } catch (error) {
          say(error);
        }
      });
    });
    return button.element;
  }

  async function loadList() {
    asked += 1;
    const turn = asked;
    for (const field of [from, to]) field.setError(null);
    try {
      const { shifts } = await api.shifts({ from: from.value, to: to.value });
      if (hasEnded || turn !== asked) return;
      paintList(shifts);
    } catch (error) {
      if (hasEnded || turn !== asked) return;
      if (error.fields?.to) to.setError(`${error.fields.to.message} ${error.fields.to.action}`);
      else say(error);
    }
  }

  function paintList(shifts) {
    if (shifts.length === 0) {
      refill(list, h("div", { class: "empty" }, h("p", {}, t("shifts.empty"))));
      return;
    }
    refill(
      list, h("h2", {}, t("shifts.list")),
      h("ul", { class: "shift-rows" }, shifts.map((shift) => h("li", {}, row(shift)))),
      byPerson(shifts),
    );
  }

  function row(shift) {
    const amounts = shift.totals.map((total) => total.totalText).join(", ") || "–";
    return h(
      "button", { class: "shift-row", type: "button", "data-shift": shift.number, on: { click: () => choose(shift.number) } },
      h("span", { class: "shift-who" }, personText(shift.person)),
      h("span", { class: "quiet small" }, shift.closedAt ? t("shifts.closedAt", { time: momentText(shift.closedAt), who: personText(shift.closedBy) }) : t("shifts.openSince", { time: momentText(shift.openedAt) })),
      h("span", { class: "shift-amount" }, amounts),
      shift.open > 0 ? h("span", { class: "shift-open" }, icon("alert"), t("shifts.unknown", { count: shift.open })) : null,
    );
  }

  /** Each person's shifts together, as figures, bars and a table. */
  function byPerson(shifts) {
    const currencies = [...new Set(shifts.flatMap((shift) => shift.totals.map((total) => total.currency)))].sort();
    const oldestFirst = [...shifts].reverse();
    return currencies.map((currency) => ofCurrency(currency, oldestFirst.map((shift) => ({
      first: `${t("shifts.number", { number: shift.number })}, ${personText(shift.person)}`,
      last: `${t("shifts.number", { number: shift.number })}, ${personText(shift.person)}`, tick: String(shift.number), totals: shift.totals,
      group: personText(shift.person),
    })), { isShifts: true }));
  }

  async function choose(number) {
    chosen = number;
    try {
      const { shift } = await api.shift(number);
      if (hasEnded || chosen !== number) return;
      paintDetail(shift);
      detail.focus();
    } catch (error) {
      say(error);
    }
  }

  function paintDetail(shift) {
    chosen = shift.number;
    const mayClose = !shift.closedAt && (shift.person === state.session?.who || ["owner", "manager"].includes(state.session?.role));
    const hasChanged = shift.report && JSON.stringify(shift.report.totals) !== JSON.stringify(shift.totals);
    refill(
      detail,
      h(
        "section", { class: "card shift-report", "aria-labelledby": "shift-report-title" },
        h("h2", { id: "shift-report-title" }, `${t("shifts.number", { number: shift.number })} · ${personText(shift.person)}`),
        h("p", {}, t(shift.closedAt ? "shifts.opened" : "shifts.openSince", { time: momentText(shift.openedAt) })),
        shift.closedAt ? h("p", {}, t("shifts.closedAt", { time: momentText(shift.closedAt), who: personText(shift.closedBy) })) : null,
        shift.report ? [h("h3", {}, t("shifts.report")), sums({ totals: shift.report.totals, open: shift.report.open, openCharges: [] })] : null,
        hasChanged || !shift.report ? [shift.report ? [h("p", { class: "strong" }, t("shifts.changed")), h("h3", {}, t("shifts.now"))] : null, sums(shift)] : null,
        h(
          "div", { class: "receipt-buttons shift-buttons" }, mayClose ? closeButton(shift) : null,
          h("button", { class: "button", type: "button", on: { click: () => window.print() } }, t("shifts.print")),
          h("a", { class: "button", href: api.shiftReportAddress(shift.number, "csv"), download: "" }, t("shifts.csv")),
          h("a", { class: "button", href: api.shiftReportAddress(shift.number, "txt"), download: "" }, t("shifts.txt")),
        ),
      ),
    );
  }

  async function loadAll() {
    refill(trouble);
    await Promise.all([loadMine(), loadList()]);
  }

  loadAll();
  return {
    element,
    update() {
      const event = `${state.recent?.[0]?.id} ${state.recent?.[0]?.state}`;
      if (lastEvent && event !== lastEvent) loadAll();
      lastEvent = event;
    },
    end() { hasEnded = true; },
  };
}

/** What a shift came to: a line for each currency, way to pay and state, and what is not known yet by name. */
function sums({ totals, open, openCharges }) {
  const line = (name, value) => h("div", {}, h("dt", {}, name), h("dd", {}, value));
  return h(
    "div", { class: "shift-sums" },
    totals.map((total) => h(
      "dl", { class: "facts", "aria-label": total.currency },
      line(t("totals.paid"), `${total.totalText} · ${t("totals.count", { count: total.paid })}`),
      line(t("totals.tips"), total.tipText),
      line(t("totals.refunded"), `${total.refundedText} · ${t("totals.refunds", { count: total.refunds })}`),
      total.surplusMinor > 0 ? line(t("totals.surplus"), total.surplusText) : null,
      Object.entries(total.rails).map(([rail, { charges, text }]) => line(t(`history.rails.${rail}`), `${text} · ${t("totals.count", { count: charges })}`)),
      Object.entries(total.states).filter(([name]) => name !== "succeeded").map(([name, count]) => line(t(`state.${name}.word`), String(count))),
    )),
    open > 0 ? notice("plain", t("shifts.unknown", { count: open })) : null,
    openCharges.length > 0 ? h("div", { class: "rows" }, openCharges.map((charge) => chargeRow(charge))) : null,
  );
}
