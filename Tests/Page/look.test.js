import { dress, lookButton, speak, whenLanguageChanged } from "/app/look.js";
import { chosenLanguage, LANGUAGES, pageLanguage, useLanguage } from "/app/strings.js";
import { afterwards, equal, replace, settled, test } from "./harness.js";

await useLanguage(["en"]);

/** A browser that prefers English; `rebuilt` counts how often the page was built anew. */
function browser() {
  const all = { rebuilt: 0 };
  replace(navigator, "languages", ["en-US"]);
  whenLanguageChanged(() => { all.rebuilt += 1; });
  afterwards(async () => {
    localStorage.clear();
    document.querySelector("dialog")?.close();
    await useLanguage(["en"]);
  });
  return all;
}

/** Opens the question, chooses, and answers it. */
async function answer({ tongue, size, by = (dialog) => dialog.querySelector("button[type=submit]").click() }) {
  lookButton().click();
  const dialog = document.querySelector("dialog");
  if (tongue !== undefined) dialog.querySelector("[name=tongue]").value = tongue;
  if (size !== undefined) dialog.querySelector("[name=size]").value = size;
  const closed = new Promise((resolve) => dialog.addEventListener("close", resolve));
  by(dialog);
  await closed;
  while (document.querySelector("dialog")) await settled();
}

/** Waits until the page speaks a language whose words are fetched. */
async function spoken(tag) {
  while (pageLanguage() !== tag || document.documentElement.lang !== tag) await settled();
  await settled();
}

test("A page has the size that was chosen in this browser, and the usual one where none was", async () => {
  browser();
  await dress();
  equal(document.documentElement.dataset.size, "normal");
  for (const [kept, size] of [["largest", "largest"], ["huge", "normal"], ["", "normal"]]) {
    localStorage.setItem("till.size", kept);
    await dress();
    equal([kept, document.documentElement.dataset.size], [kept, size]);
  }
});

test("Another language builds the page anew, and the same one does not", async () => {
  const all = browser();
  await speak("de");
  equal([pageLanguage(), chosenLanguage(), all.rebuilt], ["de", "de", 1]);
  await speak("de");
  equal(all.rebuilt, 1);
  await speak(null);
  equal([pageLanguage(), chosenLanguage(), all.rebuilt], ["en", null, 2]);
});

test("Each language is offered by its own name, and read aloud as such", () => {
  browser();
  lookButton().click();
  const options = [...document.querySelector("dialog [name=tongue]").options].slice(1);
  equal(options.map(({ value, textContent, lang }) => [value, textContent, lang]), Object.entries(LANGUAGES).map(([tag, name]) => [tag, name, tag]));
});

test("What is chosen holds at once and after a reload", async () => {
  const all = browser();
  await answer({ tongue: "es", size: "large" });
  await spoken("es");
  equal([document.documentElement.dataset.size, localStorage.getItem("till.size"), chosenLanguage(), all.rebuilt], ["large", "large", "es", 1]);
});

test("A question that is not answered changes nothing", async () => {
  const all = browser();
  await dress();
  await answer({ tongue: "es", size: "largest", by: (dialog) => dialog.dispatchEvent(new MouseEvent("click")) });
  await settled();
  equal([document.documentElement.dataset.size, chosenLanguage(), pageLanguage(), all.rebuilt], ["normal", null, "en", 0]);
});

test("A browser that keeps nothing shows the size until it is loaded anew", async () => {
  browser();
  const refuse = () => { throw new DOMException("no", "SecurityError"); };
  replace(globalThis, "localStorage", { getItem: refuse, setItem: refuse, removeItem: refuse, clear() {} });
  await answer({ size: "large" });
  await settled();
  equal(document.documentElement.dataset.size, "large");
});
