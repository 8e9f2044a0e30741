import { changedLine, deviceText, initials } from "/app/who.js";
import { t, useLanguage } from "/app/strings.js";
import { equal, test } from "./harness.js";

await useLanguage(["en"]);

test("A person has one or two letters: of the first name and of the last", () => {
  equal(["Ada", "ada lovelace", "Ada King Lovelace", "  Ada   Lovelace ", "", "   "].map(initials), ["A", "AL", "AL", "AL", "", ""]);
});

test("A letter outside of the usual ones is one letter and not a half", () => {
  equal(["élodie", "𝒜da 𝒷", "😀 x", "عمر خيام"].map(initials), ["É", "𝒜𝒷", "😀X", "عخ"]);
});

test("Who changed something and when is said, or when alone, or nothing", () => {
  const changedAt = "2026-11-27T10:00:00Z";
  equal(changedLine({}), null);
  const line = changedLine({ changedAt, changedBy: "staff:Ada" }).textContent;
  equal([line.includes("Ada"), line.includes("2026")], [true, true]);
  equal(changedLine({ changedAt }).textContent.includes("2026"), true);
});

test("A device is named by what is known of it", () => {
  const both = deviceText({ browser: "Chrome", system: "Android" });
  equal([both.includes("Chrome"), both.includes("Android")], [true, true]);
  equal([deviceText({ browser: "Chrome" }), deviceText({ system: "Android" }), deviceText({})], ["Chrome", "Android", t("security.deviceUnknown")]);
});
