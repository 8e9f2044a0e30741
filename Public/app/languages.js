// The languages that the page can be read in, each with its own name for itself, and which one this browser reads.

const KEY = "till.language";

/** `[code, name]` of each. */
export const LANGUAGES = [["en", "English"]];

/** What this browser chose, or null. */
export function chosenLanguage() {
  const code = localStorage.getItem(KEY);
  return LANGUAGES.some(([known]) => known === code) ? code : null;
}

/** Reads in this language from now on; the page's usual one needs no note. */
export function chooseLanguage(code) {
  if (code === document.documentElement.lang && !chosenLanguage()) return;
  localStorage.setItem(KEY, code);
}
