import {
  add, backspace, clearEntry, emptySum, isAbove, isEmpty, lineDigits, MOST_LINES, percentOf, plus, point, times, totalDigits, type, without,
} from "/app/sum.js";
import { equal, test } from "./harness.js";

/** What stands on the keypad after these keys: digits, `.` for the point, `+`, `*`, and `<` for backspace. Refusals are collected. */
function pressed(keys, exponent = 2, start = emptySum()) {
  const refusals = [];
  let sum = start;
  for (const key of keys.match(/000|00|[^ ]/g)) {
    const result =
      key === "." ? point(sum, exponent) : key === "+" ? plus(sum) : key === "*" ? times(sum) :
      key === "<" ? { sum: backspace(sum, exponent) } : type(sum, key, exponent);
    if (result.refused) refusals.push(result.refused);
    sum = result.sum;
  }
  return { sum, total: totalDigits(sum), refusals };
}

const total = (keys, exponent) => pressed(keys, exponent).total;
const refusals = (keys, exponent) => pressed(keys, exponent).refusals;

test("Digits come in from the right, as on a card reader", () => {
  equal([total("1"), total("12"), total("1250"), total("1250", 0), total("1250", 3)], ["1", "12", "1250", "1250", "1250"]);
});

test("A point makes whole units of what was typed: 12.5 is twelve and a half", () => {
  equal([total("12.5"), total("12.50"), total("12.05"), total("12."), total(".5"), total("0.05")], ["1250", "1250", "1205", "1200", "50", "5"]);
  equal([total("12.5", 3), total("12.005", 3)], ["12500", "12005"]);
});

test("A decimal more than the currency has is refused and changes nothing", () => {
  equal(pressed("12.505").total, "1250");
  equal([refusals("12.505"), refusals("12.", 0), refusals("1.2345", 3)], [["tooFine"], ["tooFine"], ["tooFine"]]);
  equal(total("12.50", 0), "1250");
});

test("00 behind one decimal is refused whole", () => {
  const { sum, refusals: said } = pressed("12.5 00");
  equal([sum, said], [pressed("12.5").sum, ["tooFine"]]);
});

test("Zeros in front are no digits", () => {
  equal([total("0"), total("000"), total("00 7"), isEmpty(pressed("00").sum)], ["", "", "7", true]);
});

test("The keypad takes eleven digits and says so at the twelfth", () => {
  equal(total("99999999999"), "99999999999");
  equal(pressed("999999999999").total, "99999999999");
  equal([refusals("99999999999"), refusals("999999999999"), refusals("9999999999 00")], [[], ["tooLong"], ["tooLong"]]);
  equal(refusals("9999999999."), ["tooLong"]);
});

test("A sum stays within eleven digits as well", () => {
  equal(pressed("99999999999+1").refusals, ["tooLong"]);
  equal(pressed("99999999999+1").total, "99999999999");
  equal(pressed("50000000000+49999999999").refusals, []);
  equal([total("999*99999999999"), refusals("999*99999999999")], ["99899999001", ["tooLong", "tooLong", "tooLong"]]);
});

test("Entries are added up", () => {
  equal([total("1250+300"), total("12.5+3.+50"), total("1250+"), total("++1250")], ["1550", "1600", "1250", "1250"]);
  equal(lineDigits(pressed("3*250+").sum.lines[0]), "750");
});

test("So many pieces at a price: 3 × 2.50", () => {
  equal([total("3*250"), total("3*2.5"), total("3*250+100"), total("999*100")], ["750", "750", "850", "99900"]);
  equal(total("3*"), "");
});

test("A number of pieces is whole and at most 999", () => {
  equal([refusals("1000*"), refusals("2.*"), refusals("999*")], [["badTimes"], ["badTimes"], []]);
  equal(total("2*3*4"), "68");
});

test("Fifty entries are taken and the fifty-first is refused", () => {
  const full = pressed("1+".repeat(MOST_LINES)).sum;
  equal(full.lines.length, 50);
  const more = pressed("1+", 2, full);
  equal([more.refusals, more.total], [["tooMany"], "51"]);
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
  const { sum } = pressed("1250+3*2.5");
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
  [type(sum, "5", 2), point(sum, 2), plus(sum), times(sum), backspace(sum, 2), clearEntry(sum)].forEach(() => equal(JSON.stringify(sum), before));
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
