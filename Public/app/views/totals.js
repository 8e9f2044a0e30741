// What was paid: sums of days and months, as figures, as bars, and as a table.

import * as api from "../api.js";
import { h, refill, svg } from "../dom.js";
import { notice, textField } from "../form.js";
import { icon } from "../icons.js";
import { state } from "../store.js";
import { t } from "../strings.js";

const SPANS = ["day", "month"];
const WIDTH = 640;
const HEIGHT = 200;
const FOOT = 22;
/** No label stands closer to an end. */
const EDGE = 30;

/** The page of totals. */
export function totalsView() {
  let span = "day";
  let asked = 0;
  let hasEnded = false;

  const chips = h(
    "div", { class: "filters", role: "group", "aria-label": t("totals.by") },
    SPANS.map((name) => h("button", { class: "chip", type: "button", "aria-pressed": String(name === span), "data-span": name, on: { click: () => choose(name) } }, t(`totals.spans.${name}`))),
    h("a", { class: "chip", href: "#/shifts" }, t("totals.shifts")),
  );
  const from = textField("from", { label: t("totals.from"), attributes: { type: "date" } });
  const to = textField("to", { label: t("totals.to"), attributes: { type: "date" } });
  for (const field of [from, to]) field.control.addEventListener("change", load);
  const lead = h("p", { class: "lead" });
  const trouble = h("div", { class: "trouble", role: "alert" });
  const result = h("div", { class: "totals-result" });
  const element = h(
    "section", { class: "page settings totals", "aria-labelledby": "totals-title" },
    h("a", { class: "back-link", href: "#/history" }, icon("left"), t("nav.history")),
    h("h1", { id: "totals-title", tabindex: "-1" }, t("totals.title")), lead, chips,
    h("div", { class: "pair" }, from.element, to.element), trouble, result,
  );

  function choose(name) {
    span = name;
    for (const chip of chips.querySelectorAll("button")) chip.setAttribute("aria-pressed", String(chip.dataset.span === name));
    from.value = "";
    to.value = "";
    load();
  }

  async function load() {
    asked += 1;
    const mine = asked;
    for (const field of [from, to]) field.setError(null);
    refill(trouble);
    try {
      const answer = await api.totals({ by: span, from: from.value, to: to.value });
      if (hasEnded || mine !== asked) return;
      refill(lead, t("totals.lead", { zone: answer.timeZone }));
      if (!from.value) from.value = answer.periods[0]?.first ?? "";
      if (!to.value) to.value = answer.periods.at(-1)?.last ?? "";
      paint(answer.periods);
    } catch (error) {
      if (hasEnded || mine !== asked || error.status === 401) return;
      const fields = { from, to };
      for (const [name, reason] of Object.entries(error.fields ?? {})) fields[name]?.setError(`${reason.message} ${reason.action}`);
      if (Object.keys(error.fields ?? {}).length === 0) refill(trouble, notice("bad", t("totals.failed"), error.message));
    }
  }

  function paint(periods) {
    const currencies = [...new Set(periods.flatMap((period) => period.totals.map((total) => total.currency)))].sort();
    if (currencies.length === 0) {
      refill(result, h("div", { class: "empty" }, h("p", {}, t("totals.empty"))));
      return;
    }
    refill(result, currencies.map((currency) => ofCurrency(currency, periods)));
  }

  load();
  return {
    element,
    update() {},
    end() { hasEnded = true; },
  };
}

/** Everything of one currency. */
export function ofCurrency(currency, periods, { isShifts = false } = {}) {
  const rows = periods.map((period) => ({ ...period, total: period.totals.find((total) => total.currency === currency) ?? null }));
  const known = rows.filter((row) => row.total);
  const { exponent } = known[0].total;
  const sum = (read) => known.reduce((all, row) => all + BigInt(read(row.total)), 0n);
  const text = (minor) => money(minor, currency, exponent);
  const unknown = known.reduce((all, { total }) => all + (total.states.unknown ?? 0), 0);
  const count = known.reduce((all, { total }) => all + total.paid, 0);
  const refunds = known.reduce((all, { total }) => all + total.refunds, 0);
  const surplus = sum((total) => total.surplusMinor);
  return h(
    "section", { class: "card totals-card", "aria-label": currency },
    h(
      "dl", { class: "figures" },
      figure(t("totals.paid"), text(sum((total) => total.totalMinor)), t("totals.count", { count })),
      figure(t("totals.tips"), text(sum((total) => total.tipMinor))),
      figure(t("totals.refunded"), text(sum((total) => total.refundedMinor)), t("totals.refunds", { count: refunds })),
      surplus > 0n ? figure(t("totals.surplus"), text(surplus)) : null,
      figure(t("totals.net"), text(sum((total) => total.netMinor))),
    ),
    unknown > 0 ? notice("plain", t("totals.unknown", { count: unknown })) : null,
    bars(rows, currency, text, isShifts),
    isShifts ? people(known, text) : null,
    ways(known, text),
    isShifts ? null : table(rows),
  );
}

function figure(name, value, more = null) {
  return h("div", { class: "figure" }, h("dt", {}, name), h("dd", {}, h("bdi", {}, value)), more ? h("dd", { class: "quiet small" }, more) : null);
}

/** Exact, whatever the size: minor units as digits with their point. */
function money(minor, currency, exponent) {
  const digits = String(minor < 0n ? -minor : minor).padStart(exponent + 1, "0");
  const number = exponent === 0 ? digits : `${digits.slice(0, -exponent)}.${digits.slice(-exponent)}`;
  return `${minor < 0n ? "−" : ""}${new Intl.NumberFormat(`${state.session?.locale ?? "en-US"}-u-nu-latn`, { style: "currency", currency, minimumFractionDigits: exponent, maximumFractionDigits: exponent }).format(number)}`;
}

/** A bar for each day or month. What it shows stands in words beside it, and in the table. */
function bars(rows, currency, text, isShifts) {
  const amounts = rows.map((row) => row.total?.totalMinor ?? 0);
  const most = Math.max(...amounts, 1);
  const best = rows[amounts.indexOf(Math.max(...amounts))];
  const step = WIDTH / rows.length;
  const labels = Math.max(1, Math.ceil(rows.length / 6));
  const all = rows.reduce((sum, row) => sum + BigInt(row.total?.totalMinor ?? 0), 0n);
  const words = t("totals.chartWords", {
    first: rows[0].first, last: rows.at(-1).last, total: text(all), most: text(BigInt(best.total?.totalMinor ?? 0)), day: best.first,
  });
  return h(
    "figure", { class: "chart" },
    h("figcaption", {}, t(isShifts ? "shifts.chart" : "totals.chart", { currency })),
    svg(
      "svg", { viewBox: `0 0 ${WIDTH} ${HEIGHT}`, role: "img", "aria-label": words, class: "bars" },
      svg("line", { x1: 0, x2: WIDTH, y1: HEIGHT - FOOT, y2: HEIGHT - FOOT, class: "axis" }),
      rows.map((row, index) => {
        const height = Math.round((amounts[index] / most) * (HEIGHT - FOOT - 10) * 100) / 100;
        return svg(
          "rect",
          { x: index * step + step * 0.14, y: HEIGHT - FOOT - height, width: step * 0.72, height, rx: Math.min(4, step * 0.2), class: "bar" },
          svg("title", {}, `${row.first}: ${row.total?.totalText ?? text(0n)}`),
        );
      }),
      rows.map((row, index) => (index % labels === 0
        ? svg("text", { x: Math.min(Math.max(index * step + step / 2, EDGE), WIDTH - EDGE), y: HEIGHT - 5, class: "tick" }, row.tick ?? row.first === row.last ? row.tick ?? row.first.slice(5) : row.first.slice(0, 7))
        : null)),
    ),
    h("p", { class: "quiet small" }, words),
  );
}

/** How much came on each way to pay. */
function ways(known, text) {
  const sums = new Map();
  for (const { total } of known) {
    for (const [rail, { charges, minor }] of Object.entries(total.rails)) {
      const [count, amount] = sums.get(rail) ?? [0, 0n];
      sums.set(rail, [count + charges, amount + BigInt(minor)]);
    }
  }
  return shares(t("totals.rails"), new Map([...sums].map(([rail, sum]) => [t(`history.rails.${rail}`), sum])), text);
}

/** How much each person charged. */
function people(known, text) {
  const sums = new Map();
  for (const { group, total } of known) {
    const [count, amount] = sums.get(group) ?? [0, 0n];
    sums.set(group, [count + total.paid, amount + BigInt(total.totalMinor)]);
  }
  return shares(t("shifts.people"), sums, text);
}

/** Numbers of payments and sums by name, as bars and words. */
function shares(title, sums, text) {
  if (sums.size === 0) return null;
  const most = [...sums.values()].reduce((all, [, amount]) => (amount > all ? amount : all), 1n);
  return h(
    "div", { class: "ways" }, h("h2", {}, title),
    h("ul", {}, [...sums].sort(([one], [other]) => (one < other ? -1 : 1)).map(([name, [count, amount]]) =>
      h(
        "li", { class: "way" }, h("span", {}, name),
        svg("svg", { viewBox: "0 0 100 8", preserveAspectRatio: "none", class: "share", "aria-hidden": "true" }, svg("rect", { x: 0, y: 0, width: Number((amount * 100n) / most), height: 8, class: "bar" })),
        h("span", { class: "way-amount" }, `${text(amount)} · ${t("totals.count", { count })}`),
      ))),
  );
}

function table(rows) {
  const heads = ["totals.when", "totals.paid", "totals.tips", "totals.refunded", "totals.net"];
  return h(
    "details", { class: "each" }, h("summary", {}, t("totals.each")),
    h(
      "div", { class: "table-frame", tabindex: "0", role: "group", "aria-label": t("totals.each") },
      h(
        "table", {},
        h("thead", {}, h("tr", {}, heads.map((key) => h("th", { scope: "col" }, t(key))))),
        h("tbody", {}, rows.filter((row) => row.total).reverse().map(({ first, last, total }) =>
          h("tr", {}, h("th", { scope: "row" }, first === last ? first : first.slice(0, 7)), [total.totalText, total.tipText, total.refundedText, total.netText].map((value) => h("td", {}, value))))),
      ),
    ),
  );
}
