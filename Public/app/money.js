// Amounts as the keypad composes them: strings of decimal digits in minor units. No arithmetic on fractions anywhere;
// the terminal parses, checks and formats everything that counts.

import { decimalSign, FORMATS, written } from "./amount-format.js";

export { decimalSign };

/** Longest amount the keypad takes: stays exact as a JSON number (below 2^53) in every currency. */
export const LONGEST_AMOUNT = 11;

/** `"1250"` with exponent 2 is `"12.50"`. */
function decimal(digits, exponent) {
  const padded = digits.padStart(exponent + 1, "0");
  return exponent === 0 ? padded : `${padded.slice(0, -exponent)}.${padded.slice(-exponent)}`;
}

/** `"1250"` with exponent 2 is `"12,50"` where people of `locale` write so: the text of a field that `minorDigits` reads. */
export function fieldText(digits, exponent, locale) { return decimal(digits, exponent).replace(".", decimalSign(locale)); }

/**
 * `"12,5"` with exponent 2 is `"1250"`; null where it is not an amount. Takes no grouping: "1.000" is not guessed. With three decimals
 * `"1,234"` may be a thousand or one and a bit: refused where people of `locale` do not write decimals so, as the terminal does.
 */
export function minorDigits(text, exponent, locale) {
  const match = /^(\d+)(?:([.,])(\d+))?$/.exec(text.trim());
  if (!match) return null;
  const [, whole, sign, fraction = ""] = match;
  if (fraction.length > exponent) return null;
  if (fraction.length === 3 && whole.length <= 3 && sign !== decimalSign(locale)) return null;
  const digits = (whole + fraction.padEnd(exponent, "0")).replace(/^0+(?=\d)/, "");
  return digits.length > LONGEST_AMOUNT ? null : digits;
}

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
  "VES VND VUV WST XAF XCD XOF XPF YER ZAR ZMW ZWG"
).split(" ");

/** Conventions for writing amounts that the terminal's screen knows. */
export const LOCALES = Object.keys(FORMATS);
