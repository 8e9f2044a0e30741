import { COUNTRIES, countryNames, currencyOf, guessCountry, localeOf, zoneOf, zonesOf } from "/app/countries.js";
import { CURRENCIES, LOCALES } from "/app/money.js";
import { equal, replace, test } from "./harness.js";

/** Lets the browser have these languages and this time zone. */
function browser(languages, timeZone) {
  replace(navigator, "languages", languages);
  const { DateTimeFormat } = Intl;
  replace(Intl, "DateTimeFormat", function (...options) {
    const format = new DateTimeFormat(...options);
    return { resolvedOptions: () => ({ ...format.resolvedOptions(), timeZone }) };
  });
}

test("A country has the currency of its shops", () => {
  equal(["DE", "CH", "LI", "JP", "KW", "GB", "HR", "BG", "SN", "GG"].map(currencyOf), ["EUR", "CHF", "CHF", "JPY", "KWD", "GBP", "EUR", "EUR", "XOF", "GBP"]);
});

test("A currency that the terminal does not take is not proposed, nor one of an unknown country", () => {
  for (const country of COUNTRIES) equal([country, currencyOf(country) === "" || CURRENCIES.includes(currencyOf(country))], [country, true]);
  equal([currencyOf("XX"), currencyOf(""), currencyOf("constructor")], ["", "", ""]);
});

test("Every country is listed once, with a name, in the order of the page's language", () => {
  equal(new Set(COUNTRIES).size, COUNTRIES.length);
  for (const language of ["en", "de", "es", "fr", "ar"]) {
    const names = countryNames(language);
    equal(names.length, COUNTRIES.length);
    equal(names.filter(([code, name]) => name === code || name === ""), []);
    equal(names.map(([, name]) => name), names.map(([, name]) => name).sort(new Intl.Collator(language).compare));
  }
  equal(countryNames("de").find(([code]) => code === "AT")[1], "Österreich");
});

test("Amounts are written as in the country, else as in its language, else as in English", () => {
  equal(["DE", "AT", "CH", "GB", "BR"].map(localeOf), ["de-DE", "de-AT", "de-CH", "en-GB", "pt-BR"]);
  equal(["AR", "KW", "LU", "NZ"].map(localeOf), ["es-ES", "ar-EG", "fr-FR", "en-US"]);
  equal(["FI", "XX", ""].map(localeOf), ["en-US", "en-US", "en-US"]);
  for (const country of COUNTRIES) equal([country, LOCALES.includes(localeOf(country))], [country, true]);
});

test("The browser's own time zone is kept where it is one of the country's", () => {
  equal(zoneOf("US", "America/Denver"), "America/Denver");
  equal(zoneOf("DE", "Europe/Berlin"), "Europe/Berlin");
});

test("Else a country has the zone of most of its shops, and not the first of the alphabet", () => {
  equal(zoneOf("US", "Europe/Berlin"), "America/New_York");
  equal(zoneOf("ES", "Europe/Berlin"), "Europe/Madrid");
  equal(zoneOf("AU", "Europe/Berlin"), "Australia/Sydney");
  equal(zoneOf("DE", "Asia/Tokyo"), "Europe/Berlin");
});

test("Where the browser knows no zone of a country, its own is proposed", () => {
  equal([zoneOf("XX", "Europe/Berlin"), zonesOf("not a country")], ["Europe/Berlin", []]);
});

test("The clock says where a shop is, before the language does", () => {
  browser(["en-US", "de-DE"], "Europe/Berlin");
  equal(guessCountry(), "DE");
});

test("A zone of several countries goes to the one whose language is spoken", () => {
  browser(["de-CH"], "Europe/Zurich");
  equal(guessCountry(), "CH");
});

test("A clock that says nothing leaves it to the language, and that to nothing", () => {
  browser(["pt-BR", "en-US"], "UTC");
  equal(guessCountry(), "BR");
  browser(["en"], "Etc/GMT");
  equal(guessCountry(), "");
  browser(["zh-Hant"], undefined);
  equal(guessCountry(), "");
});
