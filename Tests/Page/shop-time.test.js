import { dayText, momentText, shopDay, timeText } from "/app/shop-time.js";
import { update } from "/app/store.js";
import { t, useLanguage } from "/app/strings.js";
import { clock } from "./fakes.js";
import { afterwards, equal, test } from "./harness.js";

await useLanguage(["en"]);

async function speaking(tag, locale) {
  afterwards(async () => { update({ session: null }); await useLanguage(["en"]); });
  update({ session: { locale } });
  await useLanguage([tag]);
}

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
