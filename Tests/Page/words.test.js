// The words of each language as data; scripts/check-words reads the same files as text.

import { LANGUAGES } from "/app/strings.js";
import { equal, test } from "./harness.js";

const OTHERS = Object.keys(LANGUAGES).filter((tag) => tag !== "en");
const words = Object.fromEntries(await Promise.all(Object.keys(LANGUAGES).map(async (tag) => [tag, leaves((await import(`/app/words/${tag}.js`)).default)])));
const COUNTS = [0, 1, 2, 3, 10, 11, 99, 100, 101, 1_000_000];

/** Where one and two read alike: "1 weitere", "1 Zeichen mehr". */
const ALIKE = new Set(["de notice.more", "de password.tooShort"]);

/** Every text and function by its key. */
function leaves(branch, path = "") {
  return Object.assign({}, ...Object.entries(branch).map(([name, leaf]) => (typeof leaf === "object" ? leaves(leaf, `${path}${name}.`) : { [path + name]: leaf })));
}

const isReason = (key) => key.startsWith("reasons.");
const keys = (tag) => Object.keys(words[tag]).filter((key) => !isReason(key)).sort();
const reasons = (tag) => Object.keys(words[tag]).filter(isReason).sort();
const placeholders = (text) => [...new Set([...text.matchAll(/\{(\w+)\}/g)].map(([, name]) => name))].sort();

/** What a function makes of these values, and which it asked for. */
function made(fn, values) {
  const asked = new Set();
  const text = fn(new Proxy({}, { get: (_, name) => { asked.add(name); return values[name] ?? `a ${name}`; } }));
  return { text, asked: [...asked].sort() };
}

/** Each text that counts, with what it says of a count. */
const counting = (tag) => Object.entries(words[tag]).filter(([, leaf]) => typeof leaf === "function")
  .map(([key, fn]) => ({ key, of: (count) => made(fn, { count, missing: count, seconds: count }) }));

test("Every language has every key that English has, and no other", () => {
  for (const tag of OTHERS) equal([tag, keys(tag)], [tag, keys("en")]);
});

test("Every language fills in at each place what English fills in there", () => {
  for (const tag of OTHERS) {
    for (const key of keys("en")) {
      const [english, own] = [words.en[key], words[tag][key]];
      const inserted = (leaf) => (typeof leaf === "function" ? made(leaf, { count: 5, missing: 5, seconds: 5 }).asked : placeholders(leaf));
      equal([tag, key, typeof own, inserted(own)], [tag, key, typeof english, inserted(english)]);
    }
  }
});

test("A text is empty where the English one is, and nowhere else", () => {
  for (const tag of OTHERS) for (const key of keys("en")) equal([tag, key, words[tag][key] === ""], [tag, key, words.en[key] === ""]);
});

test("No text holds half a placeholder, or spaces at its ends", () => {
  for (const tag of Object.keys(words)) {
    for (const [key, text] of Object.entries(words[tag])) {
      if (typeof text === "function") continue;
      equal([tag, key, /[{}]/.test(text.replace(/\{\w+\}/g, "")), text.trim() === text], [tag, key, false, true]);
    }
  }
});

test("Every language but English has a message and an action for the same reasons, filled in alike", () => {
  const [first, ...others] = OTHERS;
  equal(reasons("en"), []);
  for (const tag of others) {
    equal([tag, reasons(tag)], [tag, reasons(first)]);
    for (const key of reasons(first)) equal([tag, key, placeholders(words[tag][key])], [tag, key, placeholders(words[first][key])]);
  }
  for (const tag of OTHERS) {
    for (const key of reasons(tag)) {
      const [place, part] = [key.slice(0, key.lastIndexOf(".")), key.split(".").at(-1)];
      equal([tag, key, typeof words[tag][key], ["message", "action"].includes(part)], [tag, key, "string", true]);
      equal([tag, key, `${place}.message` in words[tag], `${place}.action` in words[tag]], [tag, key, true, true]);
    }
  }
});

test("A text that counts says the number, and leaves nothing unsaid", () => {
  for (const tag of Object.keys(words)) {
    for (const { key, of } of counting(tag)) {
      for (const count of COUNTS) {
        const { text, asked } = of(count);
        equal([tag, key, count, text === "" || /undefined|NaN|null|\[object|#|\$\{/.test(text)], [tag, key, count, false]);
        // Two of something have a form of their own in Arabic, and a minute is sixty seconds.
        if (count > 2 && !asked.includes("name") && !(asked.includes("seconds") && count >= 60)) equal([tag, key, count, text.includes(String(count))], [tag, key, count, true]);
      }
    }
  }
});

test("One is said otherwise than two, wherever English says so", () => {
  const form = ({ of }, count) => of(count).text.replace(String(count), "#");
  const numbered = counting("en").filter((entry) => form(entry, 1) !== form(entry, 2)).map(({ key }) => key);
  equal(numbered.length > 10, true);
  const alike = OTHERS.flatMap((tag) => counting(tag).filter((entry) => numbered.includes(entry.key) && form(entry, 1) === form(entry, 2)).map(({ key }) => `${tag} ${key}`));
  equal(alike.filter((key) => !ALIKE.has(key)), []);
});

test("Arabic has a form of its own for one, two, three to ten, and eleven", () => {
  const form = ({ of }, count) => of(count).text.replace(String(count), "#");
  const counted = counting("ar").filter(({ key }) => ["totals.count", "notice.more", "staff.lockAfter", "password.tooShort"].includes(key));
  equal(counted.length, 4);
  for (const entry of counted) {
    equal([entry.key, new Set([1, 2, 3, 11].map((count) => form(entry, count))).size >= 3], [entry.key, true]);
    equal([entry.key, form(entry, 3), form(entry, 11)], [entry.key, form(entry, 10), form(entry, 99)]);
  }
});
