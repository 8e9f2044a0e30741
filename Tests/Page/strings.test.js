import {
  chooseLanguage, chosenLanguage, hasWords, inOwnWords, LANGUAGES, pageLanguage, t, useLanguage,
} from "/app/strings.js";
import { afterwards, equal, replace, test } from "./harness.js";

await useLanguage(["en"]);

/** Speaks one language for the length of a test. */
async function speaking(tag) {
  afterwards(() => useLanguage(["en"]));
  await useLanguage([tag]);
}

const reason = (code, values, more = {}) => ({ code, message: "English.", action: "Do this.", values, ...more });
const said = (value) => JSON.parse(JSON.stringify(value), inOwnWords);

test("The first language of the browser that there are words for is spoken, whatever its country", async () => {
  await speaking("en");
  for (const [tags, language] of [[["de-CH", "en"], "de"], [["ja", "FR-ca", "de"], "fr"], [["ja"], "en"], [[], "en"], [["constructor"], "en"]]) {
    await useLanguage(tags);
    equal([tags, pageLanguage(), document.documentElement.lang], [tags, language, language]);
  }
});

test("What was chosen in this browser wins, until it is taken back", async () => {
  await speaking("en");
  afterwards(() => chooseLanguage(null));
  chooseLanguage("es");
  await useLanguage(["de"]);
  equal([chosenLanguage(), pageLanguage()], ["es", "es"]);
  chooseLanguage(null);
  await useLanguage(["de"]);
  equal([chosenLanguage(), pageLanguage()], [null, "de"]);
});

test("A choice that is no language is none", () => {
  afterwards(() => chooseLanguage(null));
  for (const tag of ["xx", "", "toString"]) {
    chooseLanguage(tag);
    equal([tag, chosenLanguage()], [tag, null]);
  }
});

test("A browser that keeps nothing is spoken to all the same", () => {
  const refuse = () => { throw new DOMException("no", "SecurityError"); };
  replace(globalThis, "localStorage", { getItem: refuse, setItem: refuse, removeItem: refuse });
  chooseLanguage("de");
  equal(chosenLanguage(), null);
});

test("Arabic runs from right to left, and the others from left to right", async () => {
  for (const tag of Object.keys(LANGUAGES)) {
    await speaking(tag);
    equal([tag, document.documentElement.dir], [tag, tag === "ar" ? "rtl" : "ltr"]);
  }
});

test("Values are filled in, as texts and as they are", async () => {
  await speaking("en");
  const values = { amount: "€12.50", code: "$& $1 {time}", time: 10 };
  equal(Object.values(values).map((value) => t("notice.late", values).includes(String(value))), [true, true, true]);
  equal(t("notice.late", { amount: "€12.50" }).includes("{code}"), true);
});

test("What is filled in keeps its own direction among Arabic words", async () => {
  await speaking("ar");
  equal(t("nav.switchFrom", { name: "Ada" }).includes("\u2068Ada\u2069"), true);
});

test("Words that do not exist are named by their key, and complained about", () => {
  let complaints = 0;
  replace(console, "error", () => { complaints += 1; });
  equal([t("no.such"), t("constructor.name"), complaints], ["no.such", "constructor.name", 2]);
  equal([hasWords("app.name"), hasWords("app.none"), hasWords("toString")], [true, false, false]);
});

test("The terminal's reasons are said in the page's language, with their values", async () => {
  await speaking("de");
  const { message, action } = said(reason("amount_above_limit", { limit: "50,00 €" }));
  equal([message === "English.", message.includes("50,00 €") || action.includes("50,00 €")], [false, true]);
});

test("A reason stays in English where the page has no words for it, no value, or no such case", async () => {
  await speaking("de");
  for (const value of [reason("no_such_code", {}), reason("amount_above_limit", {}), reason("toString", {}), reason("amount_above_limit", { limit: "5", case: "no such" })]) {
    equal(said(value), value);
  }
});

test("English is what the terminal says", async () => {
  await speaking("en");
  const value = reason("amount_above_limit", { limit: "€50.00" });
  equal(said(value), value);
});

test("What a gateway calls a decline is said as a decline", async () => {
  await speaking("de");
  const failed = said(reason("failed", {}));
  equal(failed.message === "English.", false);
  equal(said(reason("failed_insufficient_funds", {})).message, failed.message);
});

test("What is no reason comes through as it is, and so does the rest of a reason", async () => {
  await speaking("de");
  for (const value of [null, 5, "failed", [], { code: 5, message: "English." }, { code: "failed" }]) equal(said(value), value);
  equal(said(reason("failed", {}, { chargeID: "7" })).chargeID, "7");
});
