// The language and the text size of this browser, and the question about both.

import { h, refill } from "./dom.js";
import { choiceField } from "./form.js";
import { icon } from "./icons.js";
import { chooseLanguage, chosenLanguage, LANGUAGES, pageLanguage, t, useLanguage } from "./strings.js";

const SIZE_KEY = "till.size";
/** Sizes of the text; style/look.css says how large. */
const SIZES = ["normal", "large", "largest"];

let changed = () => {};

/** Has `listener` called when the page must be built anew in another language. */
export function whenLanguageChanged(listener) { changed = listener; }

function size() {
  try {
    const name = localStorage.getItem(SIZE_KEY);
    return SIZES.includes(name) ? name : "normal";
  } catch {
    return "normal";
  }
}

/** Sets the page in the language and the size of this browser. */
export async function dress() {
  document.documentElement.dataset.size = size();
  await useLanguage(navigator.languages ?? ["en"]);
}

async function choose(tag, wanted) {
  try {
    localStorage.setItem(SIZE_KEY, wanted);
  } catch {
    // A browser that keeps nothing still shows it until the page is loaded anew.
  }
  document.documentElement.dataset.size = wanted;
  if (tag !== (chosenLanguage() ?? "")) await speak(tag || null);
}

/** Says everything in another language from now on, in this browser; null for what the browser prefers. */
export async function speak(tag) {
  chooseLanguage(tag);
  const before = pageLanguage();
  await useLanguage(navigator.languages ?? ["en"]);
  if (pageLanguage() !== before) changed();
}

/** The button that asks for both. */
export function lookButton() {
  return h("button", { class: "look-button", type: "button", "aria-label": t("look.title"), title: t("look.title"), on: { click: ask } }, icon("globe"));
}

function ask() {
  const tongue = choiceField("tongue", {
    label: t("look.language"), value: chosenLanguage() ?? "",
    groups: [[null, [["", t("look.browser")], ...Object.entries(LANGUAGES)]]],
  });
  // Each language by its own name, read aloud as such.
  for (const option of tongue.control.options) if (option.value) option.lang = option.value;
  const text = choiceField("size", {
    label: t("look.size"), value: size(), groups: [[null, SIZES.map((name) => [name, t(`look.sizes.${name}`)])]],
  });
  const form = h(
    "form", { class: "stack", method: "dialog" }, tongue.element, text.element,
    h("p", { class: "field-help" }, t("look.note")),
    h("button", { class: "button primary wide", type: "submit", value: "done" }, t("look.done")),
  );
  const dialog = h("dialog", { class: "dialog", "aria-labelledby": "look-title" }, h("h2", { id: "look-title" }, t("look.title")), form);
  dialog.addEventListener("click", (event) => { if (event.target === dialog) dialog.close(); });
  dialog.addEventListener("close", () => {
    const [tag, wanted, isDone] = [tongue.value, text.value, dialog.returnValue === "done"];
    dialog.remove();
    if (isDone) choose(tag, wanted);
  });
  refill(document.getElementById("page-dialog") ?? document.body.appendChild(h("div", { id: "page-dialog" })), dialog);
  dialog.showModal();
}
