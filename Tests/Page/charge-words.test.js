import { clockText, dayText, isFinal, look, momentText, personText, stateBadge, timeText } from "/app/charge-words.js";
import { update } from "/app/store.js";
import { t, useLanguage } from "/app/strings.js";
import { shopDay } from "/app/shop-time.js";
import { clock } from "./fakes.js";
import { afterwards, equal, test } from "./harness.js";

await useLanguage(["en"]);

const ENDS = ["succeeded", "failed", "expired", "cancelled"];

async function speaking(tag, locale) {
  afterwards(async () => { update({ session: null }); await useLanguage(["en"]); });
  update({ session: { locale } });
  await useLanguage([tag]);
}

test("A charge has ended when its authority has said its last word, and not while the outcome is not known", () => {
  equal(ENDS.filter((state) => !isFinal({ state })), []);
  equal(["created", "requiresAction", "processing", "unknown", "something new"].filter((state) => isFinal({ state })), []);
});

test("A state that this page has never heard of is shown as not known, and never as paid or unpaid", () => {
  for (const state of ["something new", "constructor", "", undefined]) equal([state, look({ state }).tone, look({ state }).word], [state, "unknown", t("state.unknown.word")]);
});

test("What is not known says not to charge again", () => {
  equal(look({ state: "unknown" }).todo, t("state.unknown.todo"));
});

test("A promise is no payment, a refund no sale, and a refusal no failure of the terminal", () => {
  equal(look({ state: "processing", promised: true }).tone, "promised");
  equal(look({ state: "succeeded", givenBack: true }).word, t("state.givenBack.word"));
  equal(look({ state: "failed", refused: true }).tone, "refused");
  // Only in the state that they belong to.
  equal(["succeeded", "failed", "processing"].map((state) => look({ state, promised: state === "succeeded", givenBack: state === "failed", refused: state === "processing" }).tone), ["paid", "failed", "processing"]);
});

test("Paid late is paid, and says that it was late", () => {
  const charge = look({ state: "succeeded", late: true });
  equal([charge.tone, charge.word], ["paid", t("state.late.word")]);
});

test("Who confirmed a payment is named where it is known, and nobody is made up", () => {
  equal(look({ state: "succeeded", confirmedBy: "acquirer" }).what, t("state.confirmedBy.acquirer"));
  equal(look({ state: "succeeded", confirmedBy: "gateway" }).what, t("state.confirmedBy.gateway"));
  equal(look({ state: "succeeded", confirmedBy: "somebody" }).what, t("state.succeeded.what"));
});

test("The terminal's own reason stands before the page's words", () => {
  const { what, todo } = look({ state: "failed", reason: { message: "The card is stolen.", action: "Call." } });
  equal([what, todo], ["The card is stolen.", "Call."]);
});

test("A state is shown by colour, shape and word", () => {
  const badge = stateBadge({ state: "succeeded" });
  equal([badge.querySelector(".disc").className, badge.querySelectorAll("svg").length, badge.textContent], ["disc tone-paid", 1, t("state.succeeded.word")]);
  const shapes = ENDS.concat("unknown", "processing").map((state) => stateBadge({ state }).querySelector("svg").innerHTML);
  equal(new Set(shapes).size, shapes.length);
});

test("Times are written as in the shop where that is in the page's language", async () => {
  await speaking("en", "en-GB");
  equal(timeText("2026-11-27T17:05:00Z"), "18:05");
  await speaking("en", "en-US");
  equal(timeText("2026-11-27T17:05:00Z").replace(/\s/u, " "), "06:05 PM");
  await speaking("de", "en-US");
  equal(timeText("2026-11-27T17:05:00Z"), "18:05");
});

test("Dates have the digits of the rest of the page in Arabic", async () => {
  await speaking("ar", "ar-EG");
  equal(/[٠-٩]/.test(momentText("2026-11-27T17:05:00Z")), false);
  equal(momentText("2026-11-27T17:05:00Z").includes("2026"), true);
});

test("Times and days are the shop's wherever the tablet is, and the zone stands beside them where they differ", async () => {
  afterwards(() => update({ session: null, clockAhead: 0 }));
  const sold = "2026-11-27T05:55:18Z";
  const said = (timeZone, locale = "en-GB") => {
    update({ session: { locale, timeZone } });
    return [timeText(sold), momentText(sold)].map((text) => text.replace(/\s/gu, " "));
  };
  // This browser stands in Berlin.
  equal(said("Europe/Berlin"), ["06:55", "27 Nov 2026, 06:55:18"]);
  equal(said("Europe/Paris"), ["06:55", "27 Nov 2026, 06:55:18"]);
  equal(said("Pacific/Pago_Pago"), ["18:55 GMT-11", "26 Nov 2026, 18:55:18 GMT-11"]);
  equal(said("Asia/Tokyo"), ["14:55 GMT+9", "27 Nov 2026, 14:55:18 GMT+9"]);
  // One that the browser has never heard of: its own time is shown, and called so.
  equal(said("Mars/Olympus"), ["06:55 CET", "27 Nov 2026, 06:55:18 CET"]);
});

test("A sale is listed under the day on which its receipt and the filters have it", () => {
  clock("2026-11-27T05:30:00Z");
  afterwards(() => update({ session: null, clockAhead: 0 }));
  update({ session: { locale: "en-GB", timeZone: "Pacific/Pago_Pago" }, clockAhead: 0 });
  equal([dayText("2026-11-27T05:00:00Z"), dayText("2026-11-26T10:00:00Z"), shopDay("2026-11-27T05:00:00Z")], [t("history.today"), t("history.yesterday"), "2026-11-26"]);
  update({ session: { locale: "en-GB", timeZone: "Asia/Tokyo" } });
  equal([dayText("2026-11-26T15:00:00Z"), dayText("2026-11-26T14:59:00Z")], [t("history.today"), t("history.yesterday")]);
});

test("Yesterday is yesterday where a day has 25 hours, and where it has no midnight", () => {
  afterwards(() => update({ session: null, clockAhead: 0 }));
  clock("2026-10-26T05:00:00Z");
  update({ session: { locale: "en-GB", timeZone: "Europe/Berlin" }, clockAhead: 0 });
  equal([dayText("2026-10-24T22:30:00Z"), dayText("2026-10-24T21:30:00Z") === t("history.yesterday")], [t("history.yesterday"), false]);
});

test("A moment that is none is nothing, and a locale that is none does not break the page", async () => {
  equal([timeText("never"), momentText(undefined)], ["", ""]);
  await speaking("en", "en-");
  equal(timeText("2026-11-27T17:05:00Z") !== "", true);
});

test("Today and yesterday go by the terminal's clock, also over midnight", () => {
  clock("2026-11-27T22:30:00Z");
  equal([dayText("2026-11-27T08:00:00Z"), dayText("2026-11-26T08:00:00Z")], [t("history.today"), t("history.yesterday")]);
  equal(dayText("2026-11-25T08:00:00Z").includes("25"), true);
  afterwards(() => update({ clockAhead: 0 }));
  update({ clockAhead: 3_600_000 });
  equal([dayText("2026-11-27T23:20:00Z"), dayText("2026-11-27T08:00:00Z")], [t("history.today"), t("history.yesterday")]);
});

test("Yesterday is yesterday on the first of a year and after a day of 25 hours", () => {
  clock("2027-01-01T10:00:00Z");
  equal(dayText("2026-12-31T10:00:00Z"), t("history.yesterday"));
  clock("2026-10-25T23:30:00Z");
  equal(dayText("2026-10-25T00:30:00Z"), t("history.yesterday"));
});

test("Who did something is said by name, and never as staff:Ada", () => {
  equal([personText("staff:Ada"), personText("staff:Ada:Bea"), personText("staff:owner")], ["Ada", "Ada:Bea", t("roles.owner")]);
  equal([personText("till:7"), personText("gateway"), personText("robot")], [t("detail.till", { name: "7" }), t("detail.who.gateway"), "robot"]);
});

test("Seconds left are minutes and seconds, and never less than nothing", () => {
  equal([0, 5, 59, 60, 61.9, 600, -3].map(clockText), ["0:00", "0:05", "0:59", "1:00", "1:01", "10:00", "0:00"]);
});
