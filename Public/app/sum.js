// What is composed on the keypad: entries that are added up, each an amount or some of one. Strings of digits in minor
// units and whole-number arithmetic only.

import { latinDigits, LONGEST_AMOUNT, readAmount } from "./money.js";

/** So many entries; a longer list belongs into a till. */
export const MOST_LINES = 50;
/** Digits of a factor: 999 of something. */
const LONGEST_TIMES = 3;
/** Characters of an entry; one more than any amount has. */
const LONGEST_TEXT = 41;
const MOST = 10n ** BigInt(LONGEST_AMOUNT) - 1n;

/**
 * Nothing typed yet. `lines` are finished entries; `text` is being typed. Digits alone come in from the right, as on a card reader; with a
 * separator the text is read as every amount is. `digits` is what it comes to in minor units; `wrong` says why it comes to nothing.
 */
export function emptySum() { return { lines: [], times: "", text: "", digits: "", wrong: null }; }

/** An amount in minor units as an entry: what was typed from the right for it. */
export function sumOf(digits) { return { ...emptySum(), text: digits, digits }; }

export function isEmpty(sum) { return sum.lines.length === 0 && sum.times === "" && sum.text === ""; }

function valueOf({ times, digits }) { return BigInt(digits || "0") * BigInt(times || "1"); }

/** Of one entry, in minor units as digits. */
export function lineDigits(line) { return String(valueOf(line)); }

function valueOfAll(sum) { return sum.lines.reduce((all, line) => all + valueOf(line), valueOf(sum)); }

/** Everything together, in minor units as digits; empty where nothing is typed or all of it is nothing. */
export function totalDigits(sum) {
  const total = valueOfAll(sum);
  return total === 0n ? "" : String(total);
}

/** Whether the decimals of an entry are said by a separator. */
function isPointed(text) { return /[^0-9]/.test(text.trim()); }

/** `{ digits, wrong }` of an entry's text. */
function read(text, exponent, locale) {
  const kept = text.trim();
  if (kept.includes("×")) return { digits: "", wrong: "badTimes" };
  if (kept.includes("+")) return { digits: "", wrong: "tooMany" };
  if (kept === "." || kept === ",") return { digits: "", wrong: null };
  const { digits = "", refused = null } = isPointed(kept) ? readAmount(kept, exponent, locale) : { digits: kept.replace(/^0+/, "") };
  return { digits: digits === "0" ? "" : digits, wrong: refused ?? (digits.length > LONGEST_AMOUNT ? "tooLong" : null) };
}

/** `sum` with this text as its entry. What cannot be read stays there, so that nothing is charged that was not typed. */
function entered(sum, text, exponent, locale) {
  const next = { ...sum, text, ...read(text, exponent, locale) };
  // 12,50 and 3: three, or three hundredths.
  const isMixed = exponent > 0 && text.trim() !== "" && sum.lines.some((line) => isPointed(line.text) !== isPointed(text));
  const wrong = next.wrong ?? (valueOfAll(next) > MOST ? "tooLong" : isMixed ? "mixed" : null);
  return { ...next, wrong, digits: wrong === null ? next.digits : "" };
}

/** With a word about it where it cannot be read. */
function said(sum) { return sum.wrong === null ? { sum } : { sum, refused: sum.wrong }; }

/** Types digits, separators or whatever else: `{ sum }`, or `{ sum, refused }` where the entry is no amount then. */
export function type(sum, keys, exponent, locale) {
  const text = (sum.text + latinDigits(keys)).trimStart();
  // Zeros in front count for nothing.
  return said(entered(sum, (isPointed(text) ? text : text.replace(/^0+/, "")).slice(0, LONGEST_TEXT), exponent, locale));
}

/** Puts an amount from elsewhere in place of the entry: digits alone are whole units there, as in every text. */
export function paste(sum, pasted, exponent, locale) {
  const text = latinDigits(pasted.trim());
  return said(entered(sum, `${text}${isPointed(text) || exponent === 0 ? "" : "."}`.slice(0, LONGEST_TEXT), exponent, locale));
}

/** Ends the entry; the next one is added to it. */
export function plus(sum, exponent, locale) {
  if (sum.wrong !== null) return said(sum);
  if (sum.digits === "") return { sum, refused: "buttonEmpty" };
  if (sum.lines.length >= MOST_LINES) return type(sum, "+", exponent, locale);
  const line = { times: sum.times, text: sum.text, digits: sum.digits };
  return { sum: { ...emptySum(), lines: [...sum.lines, line] } };
}

/** What was typed is a number of pieces; the price of one follows. */
export function times(sum, exponent, locale) {
  if (sum.times === "" && new RegExp(`^[0-9]{1,${LONGEST_TIMES}}$`).test(sum.text)) {
    return { sum: { ...emptySum(), lines: sum.lines, times: sum.text } };
  }
  return type(sum, "×", exponent, locale);
}

/** Takes the last key back: a digit, a separator, the sign before it, and so on into earlier entries. */
export function backspace(sum, exponent, locale) {
  if (sum.text !== "") return entered(sum, [...sum.text].slice(0, -1).join(""), exponent, locale);
  if (sum.times !== "") return entered({ ...sum, times: "" }, sum.times, exponent, locale);
  const last = sum.lines.at(-1);
  return last ? entered({ ...sum, lines: sum.lines.slice(0, -1), times: last.times }, last.text, exponent, locale) : sum;
}

/** Without what is being typed; without everything where nothing is. */
export function clearEntry(sum) { return { ...emptySum(), lines: sum.text === "" && sum.times === "" ? [] : sum.lines }; }

/** Without the entry of that number. */
export function without(sum, index, exponent, locale) {
  return entered({ ...sum, lines: sum.lines.filter((_, number) => number !== index) }, sum.text, exponent, locale);
}

/** `percent` of an amount in minor units, half a minor unit rounded up, as the terminal counts it. */
export function percentOf(digits, percent) { return String((BigInt(digits || "0") * BigInt(percent) + 50n) / 100n); }

/** Two amounts in minor units together. */
export function add(one, other) { return String(BigInt(one || "0") + BigInt(other || "0")); }

/** Whether an amount in minor units is larger than another. */
export function isAbove(one, other) { return BigInt(one || "0") > BigInt(other); }
