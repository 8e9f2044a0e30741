import { FORMATS, SIGNS } from "/app/amount-format.js";
import { amountText, fieldText, LOCALES } from "/app/money.js";
import { equal, test } from "./harness.js";

const facts = await (await import("./fakes.js")).facts();

test("The page writes amounts by the terminal's own table, in every locale", () => {
  equal(facts.formats, FORMATS);
  equal(LOCALES.length, 18);
  equal(facts.signs, SIGNS);
});

test("A shop in Geneva types and reads francs with a point, as on its price tags", () => {
  equal(amountText("123450", { currency: "CHF", exponent: 2, locale: "fr-CH" }), "1\u202f234.50\u00a0CHF");
});

test("Before a locale is set, and after signing out, amounts are written in English", () => {
  for (const locale of [null, undefined]) equal(amountText("123450", { currency: "EUR", exponent: 2, locale }), "€1,234.50");
});

/** Where the terminal writes otherwise than CLDR, on purpose: what this browser makes of it, as the terminal has it. */
function asTerminal(text, currency, locale) {
  const same = text.replace(/[\u200e\u200f]/g, "").replace("￥", "¥");
  // CLDR 45 and later write an upright apostrophe, and currencies but the franc by their code.
  if (locale === "de-CH") return same.replaceAll("'", "’").replace(currency, SIGNS[currency] ?? currency);
  return same.replace(locale === "ar-EG" ? /US\$/ : /^$/, "$").replace(locale === "ar-EG" ? "JP¥" : "\u0000", "¥");
}

test("The terminal writes as this browser does, in every locale, with and without groups", () => {
  for (const locale of LOCALES) {
    for (const [currency, exponent] of [["EUR", 2], ["CHF", 2], ["USD", 2], ["JPY", 0], ["KWD", 3], ["PLN", 2], ["EGP", 2]]) {
      for (const digits of ["1", "100", "12345", "123450", "1234560", "123456789"]) {
        const decimal = fieldText(digits, exponent, "en-US");
        const browsers = new Intl.NumberFormat(locale, {
          style: "currency", currency, currencyDisplay: SIGNS[currency] ? "narrowSymbol" : "code", minimumFractionDigits: exponent,
          maximumFractionDigits: exponent, numberingSystem: "latn", useGrouping: "always",
        }).format(decimal);
        equal([locale, amountText(digits, { currency, exponent, locale })], [locale, asTerminal(browsers, currency, locale)]);
      }
    }
  }
});
