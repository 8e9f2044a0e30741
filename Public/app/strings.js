// The page's words: one file for each language in words/, of which only the one in use is loaded.

/** Languages there are words for, by their BCP 47 primary tag, each by its own name. */
export const LANGUAGES = { en: "English", de: "Deutsch", es: "Español", fr: "Français", ar: "العربية" };

/** Languages that are written from right to left. */
const RIGHT_TO_LEFT = new Set(["ar"]);

const KEY = "till.language";

let current = {};

let language = "en";

let tellLoaded = null;
const loaded = new Promise((resolve) => { tellLoaded = resolve; });

/** Resolves when there are words: what the terminal answers is read by them, however early it was asked. */
export function wordsAreLoaded() { return loaded; }

/** The language in use, as a tag. */
export function pageLanguage() { return language; }

/** What was chosen in this browser, or null for what the browser prefers. */
export function chosenLanguage() {
  try {
    const tag = localStorage.getItem(KEY);
    return Object.hasOwn(LANGUAGES, tag) ? tag : null;
  } catch {
    return null;
  }
}

/** Keeps a choice in this browser; null means what the browser prefers. It holds from the next load of the page. */
export function chooseLanguage(tag) {
  try {
    if (tag === null) localStorage.removeItem(KEY);
    else localStorage.setItem(KEY, tag);
  } catch {
    // A browser that keeps nothing shows its own language.
  }
}

/** Loads the language that was chosen here, else the first of `tags` there are words for; English otherwise. */
export async function useLanguage(tags) {
  const preferred = tags.map((name) => name.split("-")[0].toLowerCase()).find((name) => Object.hasOwn(LANGUAGES, name));
  language = chosenLanguage() ?? preferred ?? "en";
  try {
    current = (await import(`./words/${language}.js`)).default;
  } catch (error) {
    if (language === "en") throw error;
    language = "en";
    current = (await import("./words/en.js")).default;
  }
  document.documentElement.lang = language;
  document.documentElement.dir = RIGHT_TO_LEFT.has(language) ? "rtl" : "ltr";
  tellLoaded();
}

/** The words for `key` (`"keypad.button"`), with `{name}` filled in from `values`. */
export function t(key, values = {}) {
  const words = find(key);
  if (words === undefined) {
    console.error(`no words for ${key}`);
    return key;
  }
  if (typeof words === "function") return words(values);
  return words.replace(/\{(\w+)\}/g, (whole, name) => (name in values ? isolated(String(values[name])) : whole));
}

/** Keeps what is filled in from being reordered with the words around it. Source: UAX #9, FSI and PDI. */
function isolated(text) { return RIGHT_TO_LEFT.has(language) ? `\u2068${text}\u2069` : text; }

/**
 * A reviver for what the terminal sends: its reasons come in English, and are said in the page's language where it has words
 * for their code. Where a value is missing, or the case is none that the page knows, the English ones stay.
 */
export function inOwnWords(_name, value) {
  if (typeof value?.code !== "string" || typeof value.message !== "string" || !current.reasons) return value;
  // What a gateway calls a decline says no more to people than that it is one.
  const code = value.code.startsWith("failed_") ? "failed" : value.code;
  const own = Object.hasOwn(current.reasons, code) ? current.reasons[code] : null;
  const values = value.values ?? {};
  const words = values.case === undefined ? own : own?.cases?.[values.case];
  if (!words?.message) return value;
  const missing = (text) => [...text.matchAll(/\{(\w+)\}/g)].some(([, name]) => !Object.hasOwn(values, name));
  if (missing(words.message) || missing(words.action)) return value;
  const fill = (text) => text.replace(/\{(\w+)\}/g, (_whole, name) => isolated(String(values[name])));
  return { ...value, message: fill(words.message), action: fill(words.action) };
}

/** True where there are words for `key`. */
export function hasWords(key) { return find(key) !== undefined; }

function find(key) {
  return key.split(".").reduce((branch, name) => (branch && Object.hasOwn(branch, name) ? branch[name] : undefined), current);
}
