// What the list of charges is narrowed to: states, a search, and behind a fold the rest.

import { exportAddress, people } from "./api.js";
import { personText } from "./charge-words.js";
import { h } from "./dom.js";
import { choiceField, textField } from "./form.js";
import { icon } from "./icons.js";
import { may } from "./may.js";
import { minorDigits } from "./money.js";
import { state } from "./store.js";
import { t } from "./strings.js";

const STATES = ["all", "succeeded", "unknown", "failed", "expired", "cancelled"];
const RAILS = ["scan", "tap", "connect"];
const PAUSE_MILLISECONDS = 250;

/** `{ element, query, isEmpty }`; `onChange` hears of each change, after the typing has paused. */
export function historyFilters({ onChange }) {
  let chosen = "all";
  let timer = null;

  const chips = h(
    "div", { class: "filters", role: "group", "aria-label": t("history.filter") },
    STATES.map((name) => h("button", { class: "chip", type: "button", "aria-pressed": String(name === chosen), "data-filter": name, on: { click: () => choose(name) } }, t(`history.filters.${name}`))),
  );
  const search = textField("q", { label: t("history.search"), attributes: { type: "search", placeholder: t("history.searchHint"), maxlength: 100, enterkeyhint: "search" } });
  const rail = choiceField("rail", { label: t("history.rail"), value: "", groups: [[null, [["", t("history.anyRail")], ...RAILS.map((name) => [name, t(`history.rails.${name}`)])]]] });
  const who = choiceField("by", { label: t("history.who"), value: "", groups: [[null, [["", t("history.anybody")]]]] });
  const from = textField("from", { label: t("history.from"), attributes: { type: "date" } });
  const to = textField("to", { label: t("history.to"), attributes: { type: "date" } });
  const least = textField("min", { label: t("history.least"), attributes: { inputmode: "decimal", maxlength: 20 } });
  const most = textField("max", { label: t("history.most"), attributes: { inputmode: "decimal", maxlength: 20 } });
  const fields = [search, rail, who, from, to, least, most];
  const csv = h("a", { class: "text-link", download: "" }, t("history.csv"));
  const json = h("a", { class: "text-link", download: "" }, t("history.json"));
  const clear = h("button", { class: "button", type: "button", on: { click: reset } }, t("history.clear"));
  const element = h(
    "div", { class: "history-filters" }, search.element, chips,
    h(
      "details", { class: "card narrow" }, h("summary", {}, t("history.narrow"), icon("right")),
      h("div", { class: "narrow-fields" }, rail.element, who.element, from.element, to.element, least.element, most.element),
      h("div", { class: "narrow-end" }, clear, may("export") ? [csv, json] : null),
    ),
  );
  for (const field of fields) field.control.addEventListener("input", soon);

  function choose(name) {
    chosen = name;
    for (const chip of chips.children) chip.setAttribute("aria-pressed", String(chip.dataset.filter === name));
    changed();
  }

  function reset() {
    for (const field of fields) field.value = "";
    choose("all");
  }

  function soon() {
    clearTimeout(timer);
    timer = setTimeout(changed, PAUSE_MILLISECONDS);
  }

  /** Minor units of what was typed; empty where nothing was, null where it is no amount. */
  function amount(field) {
    const digits = field.value.trim() === "" ? "" : minorDigits(field.value, state.session?.currencyExponent ?? 2, state.session?.locale);
    field.setError(digits === null ? t("history.badAmount") : null);
    return digits;
  }

  function changed() {
    clearTimeout(timer);
    const [min, max] = [amount(least), amount(most)];
    if (min === null || max === null) return;
    const currency = min || max ? state.session?.currency : "";
    filters.query = {
      state: chosen === "all" ? "" : chosen, q: search.value.trim(), rail: rail.value, by: who.value, from: from.value, to: to.value, min, max, currency,
    };
    showDownloads();
    onChange();
  }

  function showDownloads() {
    csv.setAttribute("href", exportAddress("csv", filters.query));
    json.setAttribute("href", exportAddress("json", filters.query));
  }

  // Only those who charged here can be found; where they cannot be asked for, the rest of the filters still work.
  people().then(({ people: names }) => {
    who.control.append(...names.map((name) => h("option", { value: name }, personText(name))));
  }, () => {});

  const filters = {
    element,
    query: {},
    get isEmpty() { return Object.values(this.query).every((value) => !value); },
  };
  showDownloads();
  return filters;
}
