// How amounts are written, by the terminal's own table: what is typed on the page and what the terminal then says are the same text.
// Browsers differ from it and from each other, by the age of their CLDR.

/** What separates digits from a sign or a code: the line does not break there. */
const GAP = "\u00a0";

/**
 * Decimal separator, group separator, whether the sign of the currency comes first, and whether a gap stands beside it. The first of a
 * language is that language's default. As in `Sources/Payments/AmountFormat.swift`; the page's tests compare them.
 */
export const FORMATS = {
  "en-US": [".", ",", true, false],
  "en-GB": [".", ",", true, false],
  "en-IE": [".", ",", true, false],
  "de-DE": [",", ".", false, true],
  "de-AT": [",", ".", true, true],
  "de-CH": [".", "’", true, true],
  "es-ES": [",", ".", false, true],
  "es-MX": [".", ",", true, false],
  "fr-FR": [",", "\u202f", false, true],
  "fr-CH": [".", "\u202f", false, true],
  "it-IT": [",", ".", false, true],
  "pt-PT": [",", "\u00a0", false, true],
  "pt-BR": [",", ".", true, true],
  "nl-NL": [",", ".", true, true],
  "ja-JP": [".", ",", true, false],
  "ar-EG": [".", ",", false, true],
  "sv-SE": [",", "\u00a0", false, true],
  "pl-PL": [",", "\u00a0", false, true],
};

/** Signs that stand for one currency only, wherever the reader lives. Every other currency is written by its code. */
export const SIGNS = { EUR: "€", USD: "$", GBP: "£", JPY: "¥", INR: "₹", KRW: "₩", ILS: "₪", VND: "₫", UAH: "₴", TRY: "₺", PLN: "zł" };

/** The row of `locale`; that of its language, else the English one, where it is not in the table. */
function formatOf(locale) {
  // Nobody is signed in, or nothing is set yet.
  const wanted = locale ?? "en-US";
  const language = wanted.split(/[-_]/)[0];
  const known = Object.hasOwn(FORMATS, wanted) ? wanted : Object.keys(FORMATS).find((tag) => tag.split("-")[0] === language) ?? "en-US";
  const [decimal, group, isFirst, hasGap] = FORMATS[known];
  return { decimal, group, isFirst, hasGap };
}

/** What stands between whole units and decimals where people of `locale` write. */
export function decimalSign(locale) { return formatOf(locale).decimal; }

/** An amount with its currency. `digits` are minor units, `""` is nothing of it. */
export function written(digits, { currency, exponent, locale }) {
  const { decimal, group, isFirst, hasGap } = formatOf(locale);
  const all = digits.padStart(exponent + 1, "0");
  const whole = all.slice(0, all.length - exponent).replace(/\B(?=(?:\d{3})+$)/g, group);
  const number = exponent === 0 ? whole : whole + decimal + all.slice(-exponent);
  const sign = Object.hasOwn(SIGNS, currency) ? SIGNS[currency] : currency;
  // A code in letters always stands off from the digits, also where a sign would touch them.
  const gap = hasGap || /^\p{L}{2,}$/u.test(sign) ? GAP : "";
  return isFirst ? sign + gap + number : number + gap + sign;
}
