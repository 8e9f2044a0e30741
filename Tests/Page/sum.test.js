import {
  add, backspace, clearEntry, emptySum, isAbove, isEmpty, lineDigits, MOST_LINES, paste, percentOf, plus, sumOf, times, totalDigits, type, without,
} from "/app/sum.js";
import { equal, test } from "./harness.js";

/** What stands on the keypad after these keys: `+`, `*`, `<` for backspace, and whatever an amount is typed with. Refusals are collected. */
function pressed(keys, exponent = 2, start = emptySum(), locale = "en-US") {
  const refusals = [];
  let sum = start;
  for (const key of keys.match(/000|00|./gu)) {
    const result =
      key === "+" ? plus(sum, exponent, locale) : key === "*" ? times(sum, exponent, locale) :
      key === "<" ? { sum: backspace(sum, exponent, locale) } : type(sum, key, exponent, locale);
    if (result.refused) refusals.push(result.refused);
    sum = result.sum;
  }
  return { sum, total: totalDigits(sum), refusals };
}

const total = (keys, exponent, locale) => pressed(keys, exponent, emptySum(), locale).total;
const refusals = (keys, exponent) => pressed(keys, exponent).refusals;
/** Why what stands there after these keys is no amount; null where it is one. */
const wrong = (keys, exponent, locale) => pressed(keys, exponent, emptySum(), locale).sum.wrong;

test("Digits come in from the right, as on a card reader", () => {
  equal([total("1"), total("12"), total("1250"), total("1250", 0), total("1250", 3)], ["1", "12", "1250", "1250", "1250"]);
});

test("A point makes whole units of what was typed: 12.5 is twelve and a half", () => {
  equal([total("12.5"), total("12.50"), total("12.05"), total("12."), total(".5"), total("0.05")], ["1250", "1250", "1205", "1200", "50", "5"]);
  equal([total("12.5", 3), total("12.005", 3)], ["12500", "12005"]);
});

test("A decimal more than the currency has is said and not swallowed: nothing is charged until it is taken back", () => {
  equal([wrong("12.5055"), wrong("12.5", 0), wrong("1.2345", 3), wrong("12.500")], ["tooFine", "tooFine", "tooFine", "ambiguous"]);
  equal([total("12.505"), total("12.505<"), total("12.50", 0), total("12.50<<<", 0)], ["", "1250", "", "12"]);
});

test("With a separator an amount is read as everywhere: 1.234,50 and 1,234.50 are the same, with a space or an apostrophe too", () => {
  for (const keys of ["1.234,50", "1,234.50", "1 234,50", "1’234.50", "1'234,5"]) equal([keys, total(keys)], [keys, "123450"]);
  equal([wrong("12 50"), wrong("1.2.3"), wrong("12,.5"), wrong("1.234")], ["notANumber", "notANumber", "notANumber", "ambiguous"]);
  equal([total("1.234", 2, "de-DE"), total("1,234", 3, "de-DE"), total("1234,5", 2, "de-DE")], ["123400", "1234", "123450"]);
});

test("The digits of every script are digits", () => {
  equal([total("١٢٥٠"), total("١٢٫٥"), total("１２．５"), total("۱۲٫۵")], ["1250", "1250", "1250", "1250"]);
});

test("A sign that means nothing there is said, and what was typed is not charged", () => {
  equal(["-5", "5-", "1e3", "€5", "12/5", "100+200-50"].map((keys) => wrong(keys)), ["negative", "notANumber", "notANumber", "notANumber", "notANumber", "notANumber"]);
  equal([total("5-<"), total("5-")], ["5", ""]);
});

test("A space before and after digits changes nothing", () => {
  equal([total(" 1250"), total("1250 ")], ["1250", "1250"]);
});

test("An amount with decimals and one without are not added up: 12,50 and 3 may be three or three hundredths", () => {
  equal([wrong("12.50+3"), wrong("300+12.50"), wrong("12.50+3."), wrong("300+1250"), wrong("12+3.", 0)], ["mixed", "mixed", null, null, null]);
  equal([total("12.50+3.00"), total("12.50+3<3.")], ["1550", "1550"]);
});

test("What is pasted counts as it reads, and takes the place of what was being typed", () => {
  const pasted = (text, exponent, locale, start = emptySum()) => totalDigits(paste(start, text, exponent, locale).sum);
  equal([pasted("1250", 2, "en-US"), pasted(" 1.234,50\n", 2, "de-DE"), pasted("1250", 0, "ja-JP"), pasted("١٢", 2, "ar-EG")], ["125000", "123450", "1250", "1200"]);
  equal([pasted("12.50", 2, "en-US", pressed("7").sum), pasted("5", 2, "en-US", pressed("12.50+7.").sum)], ["1250", "1750"]);
  equal(["12 50", "12.50", "€5", "9".repeat(99)].map((text) => paste(emptySum(), text, 0, "en-US").refused), ["notANumber", "tooFine", "notANumber", "tooLong"]);
});

test("Zeros in front are no digits", () => {
  equal([total("0"), total("000"), total("007"), isEmpty(pressed("00").sum)], ["", "", "7", true]);
});

test("The keypad takes eleven digits; a twelfth is said, and nothing is charged", () => {
  equal(total("99999999999"), "99999999999");
  equal([total("999999999999"), total("999999999999<")], ["", "99999999999"]);
  equal([wrong("99999999999"), wrong("999999999999"), wrong("999999999900"), wrong("9".repeat(60))], [null, "tooLong", "tooLong", "tooLong"]);
  equal(wrong("9999999999."), "tooLong");
});

test("A sum stays within eleven digits as well", () => {
  equal([wrong("99999999999+1"), wrong("50000000000+49999999999"), wrong("999*99999999999")], ["tooLong", null, "tooLong"]);
  equal(total("99999999999+1<"), "99999999999");
});

test("Entries are added up", () => {
  equal([total("1250+300"), total("12.5+3.+50."), total("1250+"), total("++1250")], ["1550", "6550", "1250", "1250"]);
  equal(refusals("++1250"), ["buttonEmpty", "buttonEmpty"]);
  equal(lineDigits(pressed("3*250+").sum.lines[0]), "750");
});

test("So many pieces at a price: 3 × 2.50", () => {
  equal([total("3*250"), total("3*2.5"), total("3*250+100"), total("999*100")], ["750", "750", "850", "99900"]);
  equal(total("3*"), "");
});

test("A number of pieces is whole and at most 999, and there is one", () => {
  equal([wrong("1000*"), wrong("2.*"), wrong("999*"), wrong("2*3*4"), wrong("*5")], ["badTimes", "badTimes", null, "badTimes", "badTimes"]);
  equal([total("2*3*4"), total("2*3*<")], ["", "6"]);
});

test("Fifty entries are taken and the fifty-first is refused", () => {
  const full = pressed("1+".repeat(MOST_LINES)).sum;
  equal(full.lines.length, 50);
  const more = pressed("1+2", 2, full);
  equal([more.sum.wrong, pressed("<<", 2, more.sum).total], ["tooMany", "51"]);
});

test("Any keys in any order: what is charged is what the entries say, or nothing", () => {
  let seed = 7;
  const next = (most) => { seed = (seed * 1_103_515_245 + 12_345) % 2_147_483_648; return seed % most; };
  const keys = [..."0123456789.,’ +*-<", "00", "000"];
  for (let run = 0; run < 300; run += 1) {
    const [exponent, locale] = [[0, 2, 3][next(3)], ["en-US", "de-DE"][next(2)]];
    let sum = emptySum();
    for (let count = 0; count < 30; count += 1) {
      const key = keys[next(keys.length)];
      sum = pressed(key, exponent, sum, locale).sum;
      if (sum.wrong === null && /^[0-9]/.test(key) && sum.text.endsWith(key)) equal(backspace(type(sum, "1", exponent, locale).sum, exponent, locale), sum);
      const value = (line) => BigInt(line.times || "1") * BigInt(line.digits || "0");
      equal(totalDigits(sum), String(sum.lines.reduce((all, line) => all + value(line), value(sum))).replace(/^0$/, ""));
      if (sum.wrong !== null) equal(sum.digits, "");
    }
  }
});

test("An amount that is there already is one typed from the right", () => {
  equal(sumOf("1250"), pressed("1250").sum);
});

test("Backspace takes back key after key, through decimals, point, pieces and earlier entries", () => {
  const keys = "3*12.5+2.05";
  for (let length = 1; length < keys.length; length += 1) {
    const [typed, left] = [keys.slice(0, length), keys.length - length];
    equal([typed, pressed(`${keys}${"<".repeat(left)}`).sum], [typed, pressed(typed).sum]);
  }
  equal(isEmpty(pressed(`${keys}${"<".repeat(keys.length + 3)}`).sum), true);
});

test("Backspace on nothing is nothing", () => {
  equal(pressed("<").sum, emptySum());
});

test("Clearing takes what is being typed, and then everything", () => {
  const { sum } = pressed("1250+3*250");
  equal(totalDigits(clearEntry(sum)), "1250");
  equal(clearEntry(clearEntry(sum)), emptySum());
});

test("One entry is taken out by its number, and the others stay", () => {
  const { sum } = pressed("100+200+300");
  equal([totalDigits(without(sum, 0)), totalDigits(without(sum, 1)), totalDigits(without(sum, 9))], ["500", "400", "600"]);
});

test("What was typed is not changed by the next key: undoing is safe", () => {
  const { sum } = pressed("1250");
  const before = JSON.stringify(sum);
  [type(sum, "5", 2), type(sum, ".", 2), plus(sum, 2), times(sum, 2), backspace(sum, 2), clearEntry(sum)].forEach(() => equal(JSON.stringify(sum), before));
});

test("A tip by percent rounds half a cent up, as the terminal does", () => {
  // Source: TipPolicy.tip of the terminal: (amount × percent + 50) / 100.
  equal(percentOf("1005", 10), "101");
  equal(percentOf("1004", 10), "100");
  equal(percentOf("1250", 5), "63");
  equal(percentOf("1249", 5), "62");
  equal(["1", "4", "5", "9", "10"].map((bill) => percentOf(bill, 10)), ["0", "0", "1", "1", "1"]);
  equal([percentOf("1250", 0), percentOf("1250", 100), percentOf("", 10)], ["0", "1250", "0"]);
  equal(percentOf("99999999999", 15), "15000000000");
});

test("Amounts are compared and added as numbers and not as texts", () => {
  equal([isAbove("9", "10"), isAbove("10", "9"), isAbove("10", "10"), isAbove("", "0"), isAbove("1", 0)], [false, true, false, false, true]);
  equal([add("9", "1"), add("", "5"), add("99999999999", "1")], ["10", "5", "100000000000"]);
});
