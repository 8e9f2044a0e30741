import { decimalSign } from "/app/amount-format.js";
import { amountText, CURRENCIES, exponentOf, fieldText, LOCALES, LONGEST_AMOUNT, minorDigits, readAmount } from "/app/money.js";
import { equal, test } from "./harness.js";

const facts = await (await import("./fakes.js")).facts();

test("One decimal is tenths: 12,5 is twelve and a half, with either sign", () => {
  equal(minorDigits("12,5", 2), "1250");
  equal(minorDigits("12.5", 2), "1250");
  equal(minorDigits("0,5", 2), "50");
  equal(minorDigits("12,5", 3), "12500");
  equal(minorDigits("12,50", 3, "de-DE"), "12500");
});

test("An amount is read in whole units, in tenths and in hundredths", () => {
  equal(["12", "12.50", "12,05", "0", "0,01", "1234"].map((text) => minorDigits(text, 2)), ["1200", "1250", "1205", "0", "1", "123400"]);
});

test("A currency without decimals takes none: 12.50 yen are refused and not a hundred times as much", () => {
  equal(["12", "007", "12.5", "12.50", "12,0", "1.234", "1,234"].map((text) => minorDigits(text, 0)), ["12", "7", null, null, null, null, "1234"]);
});

test("A currency of three decimals takes three and no fourth", () => {
  equal(["1.5", "1.25", "1.250", "0.005", "1.2505"].map((text) => minorDigits(text, 3, "en-US")), ["1500", "1250", "1250", "5", null]);
});

test("A lone group of three digits is a thousand or a decimal: it is refused where the shop would not write it so", () => {
  // As the terminal does: a wrong guess is wrong by a factor of a thousand.
  equal([minorDigits("1.234", 3, "en-US"), minorDigits("1,234", 3, "de-DE"), minorDigits("1.234", 3, "ar-EG")], ["1234", "1234", "1234"]);
  equal([minorDigits("1,234", 3, "en-US"), minorDigits("1.234", 3, "de-DE"), minorDigits("0,500", 3, "en-US"), minorDigits("123,456", 3, "en-US")], [null, null, null, null]);
  equal([minorDigits("1,23", 3, "en-US"), minorDigits("1234,567", 3, "en-US"), minorDigits("1,2345", 4, "en-US"), minorDigits("1,234", 4, "en-US")], ["1230", "1234567", "12345", null]);
});

test("More decimals than the currency has are refused, and not cut off", () => {
  equal(["1.234", "12.505", "0.001", "12,5055"].map((text) => minorDigits(text, 2)), [null, null, null, null]);
});

test("Spaces around an amount are nothing, of every kind", () => {
  equal(minorDigits(" 12,50 ", 2), "1250");
  equal(minorDigits("\u00a012,50\u202f", 2), "1250");
  equal(minorDigits("\t12,50\n", 2), "1250");
});

test("A space inside an amount is never taken for nothing: 12 50 is not 1250", () => {
  for (const text of ["12 50", "1 2", "1\u00a050", "1\u202f50", "1 23 45", "5 0,00", "1 234,5 0"]) equal([text, minorDigits(text, 2)], [text, null]);
});

test("Groups of three are read with any separator, and groups of another length are refused", () => {
  for (const text of ["1.234,50", "1,234.50", "1'234.50", "1’234.50", "1 234,50", "1\u202f234,5"]) equal([text, minorDigits(text, 2)], [text, "123450"]);
  for (const text of ["1,2,3", "12..5", "12,.5", "12.34,5", "1234.567,5", "0,123.5"]) equal([text, minorDigits(text, 2)], [text, null]);
});

test("The digits of every script that the page speaks are read, and those of two scripts are a trick", () => {
  equal(["١٢٫٥", "۱۲٫۵", "１２．５", "१२.५", "١٬٢٣٤٫٥"].map((text) => minorDigits(text, 2)), ["1250", "1250", "1250", "1250", "123450"]);
  equal(["١2", "𝟏𝟐", "²", "五"].map((text) => minorDigits(text, 2)), [null, null, null, null]);
});

test("An amount that is refused says why", () => {
  const why = (text, exponent = 2, locale = "en-US") => readAmount(text, exponent, locale).refused;
  equal([why(""), why("-5"), why("12 50"), why("1,234", 2, "de-DE"), why("12.50", 0), why("9".repeat(12)), why("5 €")],
    ["empty", "negative", "notANumber", "ambiguous", "tooFine", "tooLong", "notANumber"]);
});

test("What is no amount is refused", () => {
  for (const text of ["", "  ", ".", ",", "-5", "−5", "–5", "+5", "5-", "1e3", "0x10", "€5", "5 €", "½", "NaN", "5\u0336", "5\u202e", "5\u200b"]) equal([text, minorDigits(text, 2)], [text, null]);
});

test("Eleven digits are an amount and twelve are too many, in every currency", () => {
  for (const exponent of [0, 2, 3]) {
    const most = fieldText("9".repeat(LONGEST_AMOUNT), exponent, "en-US");
    equal(minorDigits(most, exponent, "en-US"), "9".repeat(LONGEST_AMOUNT));
    equal(minorDigits(`1${"0".repeat(LONGEST_AMOUNT - exponent)}`, exponent), null);
  }
  equal(minorDigits(`000${"9".repeat(9)}.99`, 2), "9".repeat(11));
});

test("An amount that the terminal reads, the page reads alike; what the terminal refuses, the page refuses", () => {
  equal(facts.read.length > 30 && facts.refused.length > 40, true);
  for (const [typed, code, locale, minor] of facts.read) equal([typed, code, minorDigits(typed, facts.exponents[code], locale)], [typed, code, minor]);
  for (const [typed, code, locale] of facts.refused) equal([typed, code, minorDigits(typed, facts.exponents[code], locale)], [typed, code, null]);
});

/** What a text means by rule, written as patterns; null where it means nothing, or two things. As in the terminal's own test. */
function meaning(text, exponent, sign) {
  const value = (whole, fraction = "") => (fraction.length > exponent ? null : (whole.replace(/\D/g, "") + fraction.padEnd(exponent, "0")).replace(/^0+(?=\d)/, ""));
  if (!/\d/.test(text)) return null;
  if (/^\d+$/.test(text)) return value(text);
  const groups = /^[1-9]\d{0,2}([.,’ ])\d{3}(?:\1\d{3})*$/.test(text) ? value(text) : null;
  const [, whole, , point, fraction] = /^(\d*|[1-9]\d{0,2}([.,’ ])\d{3}(?:\2\d{3})*)([.,])(\d*)$/.exec(text) ?? [];
  const isSame = whole?.includes(point);
  const decimals = point === undefined || isSame ? null : value(whole, fraction);
  if (/^\d{1,3}[.,]\d{3}$/.test(text)) return (text.at(-4) === sign) === exponent >= 3 ? (exponent >= 3 ? decimals : groups) : null;
  return decimals ?? groups;
}

test("Every text of three runs of digits means what is written, or nothing, with either decimal sign and every number of decimals", () => {
  const [runs, signs] = [["", "0", "1", "123", "012", "1234"], [".", ",", " ", "’"]];
  const two = runs.flatMap((one) => signs.flatMap((sign) => runs.map((other) => one + sign + other)));
  const texts = [...runs, ...two, ...two.flatMap((start) => signs.flatMap((sign) => runs.map((end) => start + sign + end)))]
    .filter((text) => text === text.trim());
  const wrong = [];
  let read = 0;
  for (const [locale, sign] of [["en-US", "."], ["de-DE", ","]]) {
    for (const exponent of [0, 2, 3, 4]) {
      for (const text of texts) {
        const [found, wanted] = [minorDigits(text, exponent, locale), meaning(text, exponent, sign)];
        if (found !== null) read += 1;
        if (found !== (wanted?.length > LONGEST_AMOUNT ? null : wanted)) wrong.push([text, exponent, locale, found, wanted]);
      }
    }
  }
  equal([wrong.slice(0, 5), read > 500], [[], true]);
});

test("Minor units are written as an amount with all of its decimals", () => {
  equal(["", "0", "5", "50", "1250"].map((digits) => fieldText(digits, 2, "en-US")), ["0.00", "0.00", "0.05", "0.50", "12.50"]);
  equal(["", "5", "1250"].map((digits) => fieldText(digits, 0, "de-DE")), ["0", "5", "1250"]);
  equal(["", "5", "1250"].map((digits) => fieldText(digits, 3, "de-DE")), ["0,000", "0,005", "1,250"]);
});

test("What is written into a field is read back as the same, in every currency and locale", () => {
  for (const locale of LOCALES) {
    for (const exponent of [0, 2, 3, 4]) {
      for (const digits of ["1", "50", "1250", "123456", "99999999999"]) equal([locale, minorDigits(fieldText(digits, exponent, locale), exponent, locale)], [locale, digits]);
    }
  }
});

test("An amount reads as people of its locale write it, with the decimals of its currency", () => {
  const text = (digits, currency, exponent, locale) => amountText(digits, { currency, exponent, locale });
  equal(text("123450", "EUR", 2, "en-US"), "€1,234.50");
  equal(text("123450", "EUR", 2, "de-DE"), "1.234,50\u00a0€");
  equal(text("123450", "EUR", 2, "fr-FR"), "1\u202f234,50\u00a0€");
  equal([text("1234", "JPY", 0, "en-US"), text("1234", "JPY", 0, "ja-JP")], ["¥1,234", "¥1,234"]);
  equal(text("1234", "KWD", 3, "en-US"), "KWD\u00a01.234");
  equal(text("", "EUR", 2, "de-DE"), "0,00\u00a0€");
});

test("A sign that several currencies share is not written: Canadian dollars are CAD", () => {
  equal(amountText("1250", { currency: "CAD", exponent: 2, locale: "en-US" }), "CAD\u00a012.50");
  equal(amountText("1250", { currency: "USD", exponent: 2, locale: "en-US" }), "$12.50");
});

test("The digits of an amount are Latin in Arabic too, as on the screen", () => {
  equal(/^[^٠-٩۰-۹]*12\.50[^٠-٩۰-۹]*$/.test(amountText("1250", { currency: "EGP", exponent: 2, locale: "ar-EG" })), true);
});

test("A large amount loses no digit to floating point", () => {
  equal(amountText("99999999999", { currency: "EUR", exponent: 2, locale: "en-US" }), "€999,999,999.99");
  equal(amountText("900719925474099301", { currency: "EUR", exponent: 2, locale: "en-US" }), "€9,007,199,254,740,993.01");
});

test("An amount is shown even where the page knows neither currency nor locale", () => {
  equal(amountText("1250", { currency: "EUR", exponent: 2, locale: "not a locale" }), "€12.50");
  equal(amountText("1250", { currency: "EUR", exponent: 2, locale: "de-LI" }), "12,50\u00a0€");
  equal(amountText("1250", { currency: "", exponent: 2, locale: "en-US" }), "12.50");
  equal(amountText("1250", { currency: "EUR", exponent: 2 }), "€12.50");
});

test("The keypad's decimal key has the sign that the terminal writes, in every locale", () => {
  for (const locale of LOCALES) equal([locale, decimalSign(locale)], [locale, facts.formats[locale][0]]);
  equal(decimalSign("not a locale"), ".");
  equal(decimalSign(undefined), ".");
});

test("The page offers the currencies that the terminal takes, and no other", () => {
  equal([...CURRENCIES].sort(), Object.keys(facts.exponents).sort());
});

test("A currency has as many decimals as at the terminal, whatever the browser thinks", () => {
  equal(Object.fromEntries(CURRENCIES.map((code) => [code, exponentOf(code)])), facts.exponents);
  equal([exponentOf("XXX"), exponentOf(""), exponentOf(undefined)], [2, 2, 2]);
});
