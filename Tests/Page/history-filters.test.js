import { historyFilters } from "/app/history-filters.js";
import { update } from "/app/store.js";
import { t, useLanguage } from "/app/strings.js";
import { clock, fill, onPage, terminal } from "./fakes.js";
import { afterwards, equal, test } from "./harness.js";

await useLanguage(["en"]);

/** The filters of a shop that takes euros, before its owner, with a stopped clock. */
function list(session = {}, people = { body: { people: ["staff:owner", "staff:Ada"] } }) {
  const time = clock();
  terminal(() => people);
  afterwards(() => update({ session: null }));
  update({ session: { role: "owner", currency: "EUR", currencyExponent: 2, locale: "en-US", ...session } });
  const all = { time, changes: 0 };
  all.filters = historyFilters({ onChange: () => { all.changes += 1; } });
  onPage(all.filters.element);
  all.field = (name) => all.filters.element.querySelector(`[name="${name}"]`);
  all.type = async (name, text) => {
    fill(all.field(name), text);
    await time.advance(250);
  };
  all.error = (name) => all.field(name).closest(".field").querySelector(".field-error").textContent;
  return all;
}

test("Nothing is narrowed at first, and everything can be taken along", () => {
  const { filters } = list();
  equal([filters.isEmpty, filters.query], [true, {}]);
  equal([...filters.element.querySelectorAll("a")].map((link) => link.getAttribute("href")), ["/api/v1/export.csv", "/api/v1/export.json"]);
});

test("Who may not take the list along sees no way to", () => {
  equal(list({ role: "cashier" }).filters.element.querySelectorAll("a").length, 0);
});

test("A state is one press, and shown as pressed", () => {
  const all = list();
  const { filters } = all;
  filters.element.querySelector("[data-filter=unknown]").click();
  equal([filters.query.state, filters.isEmpty, all.changes], ["unknown", false, 1]);
  equal([...filters.element.querySelectorAll(".chip")].filter((one) => one.getAttribute("aria-pressed") === "true").map((one) => one.dataset.filter), ["unknown"]);
  filters.element.querySelector("[data-filter=all]").click();
  equal([filters.query.state, filters.isEmpty], ["", true]);
});

test("A search is asked for once typing has paused, and not with every letter", async () => {
  const all = list();
  for (const text of ["t", "ta", "tab", " table "]) {
    fill(all.field("q"), text);
    await all.time.advance(249);
  }
  equal(all.changes, 0);
  await all.time.advance(1);
  equal([all.changes, all.filters.query.q], [1, "table"]);
});

test("A press in the middle of typing asks once, for both", async () => {
  const all = list();
  fill(all.field("q"), "table");
  all.filters.element.querySelector("[data-filter=failed]").click();
  await all.time.advance(1_000);
  equal([all.changes, all.filters.query.q, all.filters.query.state], [1, "table", "failed"]);
});

test("Amounts are those of the shop's currency: 12,5 is twelve and a half", async () => {
  const all = list();
  await all.type("min", "12,5");
  await all.type("max", "100");
  equal([all.filters.query.min, all.filters.query.max, all.filters.query.currency], ["1250", "10000", "EUR"]);
  const yen = list({ currency: "JPY", currencyExponent: 0 });
  await yen.type("min", "1250");
  equal([yen.filters.query.min, yen.filters.query.currency], ["1250", "JPY"]);
});

test("One and a half dinars are searched for as the shop writes them: 1,500 in German, and 1.500 is refused", async () => {
  const all = list({ currency: "KWD", currencyExponent: 3, locale: "de-DE" });
  await all.type("min", "1,500");
  equal(all.filters.query.min, "1500");
  await all.type("min", "1.500");
  equal([all.error("min"), all.changes], [t("history.badAmount"), 1]);
});

test("Without an amount no currency is asked for", async () => {
  const all = list();
  await all.type("from", "2026-11-01");
  equal([all.filters.query.from, all.filters.query.currency], ["2026-11-01", ""]);
});

test("What is no amount is said at its field, and nothing is asked for", async () => {
  const all = list();
  for (const text of ["12 50", "1.2.3", "-5", "12.505"]) {
    await all.type("min", text);
    equal([text, all.error("min"), all.changes], [text, t("history.badAmount"), 0]);
  }
  await all.type("min", "12,50");
  equal([all.error("min"), all.changes, all.filters.query.min], ["", 1, "1250"]);
});

test("The files hold what the list shows", async () => {
  const all = list();
  await all.type("q", "a&b");
  equal(all.filters.element.querySelector("a").getAttribute("href"), "/api/v1/export.csv?q=a%26b");
});

test("Clearing narrows to nothing", async () => {
  const all = list();
  await all.type("q", "table");
  await all.type("min", "12 50");
  all.filters.element.querySelector("[data-filter=failed]").click();
  [...all.filters.element.querySelectorAll("button.button")].at(-1).click();
  equal([all.filters.isEmpty, all.field("q").value, all.field("min").value, all.error("min")], [true, "", "", ""]);
});

test("Those who charged here can be chosen by name, and where that cannot be known the rest still works", async () => {
  const all = list();
  await all.time.advance(0);
  equal([...all.field("by").options].map((option) => [option.value, option.textContent]), [["", t("history.anybody")], ["staff:owner", t("roles.owner")], ["staff:Ada", "Ada"]]);
  const silent = list({}, { status: 500, body: "" });
  await silent.time.advance(0);
  await silent.type("q", "table");
  equal([silent.field("by").options.length, silent.filters.query.q], [1, "table"]);
});
