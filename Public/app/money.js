// Amounts as the keypad composes them: strings of decimal digits in minor units. No arithmetic on fractions anywhere;
// the terminal parses, checks and formats everything that counts.

import { decimalSign, FORMATS, written } from "./amount-format.js";

/** Longest amount the keypad takes: stays exact as a JSON number (below 2^53) in every currency. */
export const LONGEST_AMOUNT = 11;

/** `"1250"` with exponent 2 is `"12.50"`. */
function decimal(digits, exponent) {
  const padded = digits.padStart(exponent + 1, "0");
  return exponent === 0 ? padded : `${padded.slice(0, -exponent)}.${padded.slice(-exponent)}`;
}

/** `"1250"` with exponent 2 is `"12,50"` where people of `locale` write so: the text of a field that `minorDigits` reads. */
export function fieldText(digits, exponent, locale) { return decimal(digits, exponent).replace(".", decimalSign(locale)); }

/** Characters of a typed amount, as at the terminal. */
const LONGEST_TEXT = 40;
const EDGES = /^\p{White_Space}+|\p{White_Space}+$/gu;

/** What separates, by what is typed for it. A space and an apostrophe group and are never the decimal separator. */
const SEPARATORS = new Map([
  [".", "."], ["．", "."], ["٫", "."], [",", ","], ["，", ","], ["،", ","], ["’", "’"], ["'", "’"], ["٬", "’"],
  [" ", " "], ["\u00a0", " "], ["\u2009", " "], ["\u202f", " "],
]);
const MINUS = new Set(["-", "−", "–"]);

/** The code point of the zero that belongs to a decimal digit of any script; null for every other character. */
function zeroOf(character) {
  const point = character.codePointAt(0);
  // Mathematical digits are for formulas.
  if (!/^\p{Nd}$/u.test(character) || point >= 0x1d7ce && point <= 0x1d7ff) return null;
  let first = point;
  while (/^\p{Nd}$/u.test(String.fromCodePoint(first - 1))) first -= 1;
  // Source: Unicode Standard, 4.6: digits of a script are ten in a row, in ascending order.
  return point - (point - first) % 10;
}

/** `text` with the digits of every script as those of Latin. */
export function latinDigits(text) {
  return [...text].map((character) => {
    const zero = zeroOf(character);
    return zero === null ? character : String(character.codePointAt(0) - zero);
  }).join("");
}

/** A digit, `.`, `,`, `’`, a space or `-`; null for what is nothing in an amount. */
function symbolOf(character) {
  if (SEPARATORS.has(character)) return SEPARATORS.get(character);
  if (MINUS.has(character)) return "-";
  return zeroOf(character) === null ? null : latinDigits(character);
}

function isDigit(symbol) { return /^[0-9]$/.test(symbol); }

/** Groups of one kind of separator, each of three digits but for the first: one to three, and no zero in front. */
function hasGroups(symbols, decimal) {
  const kinds = new Set(symbols.filter((symbol) => !isDigit(symbol)));
  if (kinds.size === 0) return true;
  const [kind] = kinds;
  return kinds.size === 1 && kind !== decimal && /^[1-9][0-9]{0,2}$/.test(symbols.slice(0, symbols.indexOf(kind)).join("")) &&
    symbols.join("").split(kind).slice(1).every((group) => group.length === 3);
}

/**
 * Reads an amount as the terminal does (`Money.parse`): `{ digits }` in minor units, or `{ refused }`: `empty`, `notANumber`, `negative`,
 * `ambiguous`, `tooFine` or `tooLong`. Zero is read. `1,234` may be a thousand or one and a bit: refused where `locale` would write it
 * otherwise.
 */
export function readAmount(text, exponent, locale) {
  if ([...text].length > LONGEST_TEXT) return { refused: "tooLong" };
  const characters = [...text.replace(EDGES, "")];
  if (characters.length === 0) return { refused: "empty" };
  const symbols = characters.map(symbolOf);
  // A Bengali four looks like an eight: beside other digits it is a trick.
  const scripts = new Set(characters.map(zeroOf).filter((zero) => zero !== null));
  if (symbols.includes(null) || scripts.size > 1) return { refused: "notANumber" };
  if (symbols[0] === "-") return { refused: "negative" };
  if (symbols.includes("-") || scripts.size === 0) return { refused: "notANumber" };

  const last = symbols.reduce((found, symbol, index) => (isDigit(symbol) ? found : index), -1);
  const sign = symbols[last];
  const others = symbols.slice(0, Math.max(last, 0)).filter((symbol) => !isDigit(symbol));
  let isDecimal = false;
  if (last >= 0 && sign !== "’" && sign !== " " && !others.includes(sign)) {
    const isLoneGroup = others.length === 0 && symbols.length - last === 4 && last >= 1 && last <= 3;
    isDecimal = !isLoneGroup || sign === decimalSign(locale);
    if (isLoneGroup && isDecimal !== exponent >= 3) return { refused: "ambiguous" };
  }
  const whole = isDecimal ? symbols.slice(0, last) : symbols;
  const fraction = isDecimal ? symbols.slice(last + 1).join("") : "";
  if (!hasGroups(whole, isDecimal ? sign : null)) return { refused: "notANumber" };
  if (fraction.length > exponent) return { refused: "tooFine" };
  const digits = (whole.filter(isDigit).join("") + fraction.padEnd(exponent, "0")).replace(/^0+(?=\d)/, "");
  return digits.length > LONGEST_AMOUNT ? { refused: "tooLong" } : { digits };
}

/** `"12,5"` with exponent 2 is `"1250"`; null where `readAmount` refuses it. */
export function minorDigits(text, exponent, locale) { return readAmount(text, exponent, locale).digits ?? null; }

/** The amount as people of `locale` read it, for what is being typed; a charge has its text from the terminal. */
export function amountText(digits, money) { return written(digits, money); }

/**
 * Currencies whose smallest unit is not a hundredth, with its decimal digits. Browsers take them from CLDR, which has no filler and
 * no fils. Source: ISO 4217:2015 list one, as in the terminal.
 */
const EXPONENTS = Object.fromEntries((
  "BIF 0,CLP 0,DJF 0,GNF 0,ISK 0,JPY 0,KMF 0,KRW 0,PYG 0,RWF 0,UGX 0,UYI 0,VND 0,VUV 0,XAF 0,XOF 0,XPF 0," +
  "BHD 3,IQD 3,JOD 3,KWD 3,LYD 3,OMR 3,TND 3,CLF 4,UYW 4"
).split(",").map((pair) => [pair.slice(0, 3), Number(pair.slice(4))]));

/** Decimal digits of a currency that is not set yet; those of the shop's come with the session. */
export function exponentOf(currency) { return EXPONENTS[currency] ?? 2; }

/** Active currencies of ISO 4217 that the terminal takes. */
export const CURRENCIES = (
  "AED AFN ALL AMD AOA ARS AUD AWG AZN BAM BBD BDT BHD BIF BMD BND BOB BRL BSD BTN BWP BYN BZD CAD CDF CHF CLF CLP CNY " +
  "COP CRC CUP CVE CZK DJF DKK DOP DZD EGP ERN ETB EUR FJD FKP GBP GEL GHS GIP GMD GNF GTQ GYD HKD HNL HTG HUF IDR ILS " +
  "INR IQD IRR ISK JMD JOD JPY KES KGS KHR KMF KPW KRW KWD KYD KZT LAK LBP LKR LRD LSL LYD MAD MDL MGA MKD MMK MNT MOP " +
  "MRU MUR MVR MWK MXN MYR MZN NAD NGN NIO NOK NPR NZD OMR PAB PEN PGK PHP PKR PLN PYG QAR RON RSD RUB RWF SAR SBD SCR " +
  "SDG SEK SGD SHP SLE SOS SRD SSP STN SVC SYP SZL THB TJS TMT TND TOP TRY TTD TWD TZS UAH UGX USD UYI UYU UYW UZS VED " +
  "VES VND VUV WST XAF XCD XCG XOF XPF YER ZAR ZMW ZWG"
).split(" ");

/** Conventions for writing amounts that the terminal's screen knows. */
export const LOCALES = Object.keys(FORMATS);
