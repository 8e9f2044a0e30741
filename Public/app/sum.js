// What is composed on the keypad: entries that are added up, each an amount or some of one. Strings of digits in minor
// units and whole-number arithmetic only.

import { LONGEST_AMOUNT } from "./money.js";

/** So many entries; a longer list belongs into a till. */
export const MOST_LINES = 50;
/** Digits of a factor: 999 of something. */
const LONGEST_TIMES = 3;
const MOST = 10n ** BigInt(LONGEST_AMOUNT) - 1n;

/** Nothing typed yet. `lines` are finished entries; `digits` is being typed, after `point` decimals of it by a point. */
export function emptySum() { return { lines: [], times: "", digits: "", point: null }; }

export function isEmpty(sum) { return sum.lines.length === 0 && sum.times === "" && sum.digits === ""; }

function valueOf({ times, digits }) { return BigInt(digits || "0") * BigInt(times || "1"); }

/** Of one entry, in minor units as digits. */
export function lineDigits(line) { return String(valueOf(line)); }

/** Everything together, in minor units as digits; empty where nothing is typed or all of it is nothing. */
export function totalDigits(sum) {
  const total = sum.lines.reduce((all, line) => all + valueOf(line), valueOf(sum));
  return total === 0n ? "" : String(total);
}

/** `sum` changed by `change`, or why it cannot be: `{ sum }` or `{ sum, refused }`, where `sum` is as it was. */
function changed(sum, change) {
  const next = { ...sum, ...change };
  const total = next.lines.reduce((all, line) => all + valueOf(line), valueOf(next));
  return total > MOST || next.digits.length > LONGEST_AMOUNT ? { sum, refused: "tooLong" } : { sum: next };
}

/** Types digits: from the right as on a card reader, or behind the point once there is one. */
export function type(sum, keys, exponent) {
  let result = { sum };
  for (const key of keys) {
    result = typeOne(result.sum, key, exponent);
    if (result.refused) return { sum, refused: result.refused };
  }
  return result;
}

function typeOne(sum, key, exponent) {
  if (sum.point === null) return changed(sum, { digits: (sum.digits + key).replace(/^0+/, "") });
  if (sum.point >= exponent) return { sum, refused: "tooFine" };
  const place = 10n ** BigInt(exponent - 1 - sum.point);
  const digits = String(BigInt(sum.digits || "0") + BigInt(key) * place);
  return changed(sum, { digits: digits === "0" ? "" : digits, point: sum.point + 1 });
}

/** A point or comma: what was typed are whole units, what follows are decimals. */
export function point(sum, exponent) {
  if (exponent === 0) return { sum, refused: "tooFine" };
  if (sum.point !== null) return { sum };
  return changed(sum, { digits: sum.digits === "" ? "" : sum.digits + "0".repeat(exponent), point: 0 });
}

/** Ends the entry; the next one is added to it. */
export function plus(sum) {
  if (sum.digits === "") return { sum };
  if (sum.lines.length >= MOST_LINES) return { sum, refused: "tooMany" };
  const line = { times: sum.times, digits: sum.digits, point: sum.point };
  return { sum: { lines: [...sum.lines, line], times: "", digits: "", point: null } };
}

/** What was typed is a number of pieces; the price of one follows. */
export function times(sum) {
  if (sum.digits === "" || sum.times !== "") return { sum };
  if (sum.point !== null || sum.digits.length > LONGEST_TIMES) return { sum, refused: "badTimes" };
  return { sum: { ...sum, times: sum.digits, digits: "", point: null } };
}

/** Takes the last key back: a digit, the point, the sign before it, and so on into earlier entries. */
export function backspace(sum, exponent) {
  if (sum.point === 0) {
    return { ...sum, digits: sum.digits === "" ? "" : sum.digits.slice(0, -exponent), point: null };
  }
  if (sum.point !== null) {
    const place = 10n ** BigInt(exponent - sum.point + 1);
    const digits = String((BigInt(sum.digits || "0") / place) * place);
    return { ...sum, digits: digits === "0" ? "" : digits, point: sum.point - 1 };
  }
  if (sum.digits !== "") return { ...sum, digits: sum.digits.slice(0, -1) };
  if (sum.times !== "") return { ...sum, digits: sum.times, times: "" };
  const last = sum.lines.at(-1);
  return last ? { ...last, lines: sum.lines.slice(0, -1) } : sum;
}

/** Without what is being typed; without everything where nothing is. */
export function clearEntry(sum) {
  return sum.digits === "" && sum.times === "" ? emptySum() : { ...sum, times: "", digits: "", point: null };
}

/** Without the entry of that number. */
export function without(sum, index) { return { ...sum, lines: sum.lines.filter((_, number) => number !== index) }; }

/** `percent` of an amount in minor units, half a minor unit rounded up, as the terminal counts it. */
export function percentOf(digits, percent) { return String((BigInt(digits || "0") * BigInt(percent) + 50n) / 100n); }

/** Two amounts in minor units together. */
export function add(one, other) { return String(BigInt(one || "0") + BigInt(other || "0")); }

/** Whether an amount in minor units is larger than another. */
export function isAbove(one, other) { return BigInt(one || "0") > BigInt(other); }
