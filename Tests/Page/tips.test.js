import { update } from "/app/store.js";
import { t, useLanguage } from "/app/strings.js";
import { chosenTip, tipRow } from "/app/views/tips.js";
import { gone, onPage } from "./fakes.js";
import { equal, test } from "./harness.js";

await useLanguage(["en"]);

const TIPS = { mode: "offer", presets: [5, 10, 60], maximumPercent: 50 };

/** The row for a bill of 10.05, with amounts as plain digits. */
function row(tips = TIPS, bill = "1005", choice = null) {
  const all = { choices: [] };
  update({ session: { currencyExponent: 2, locale: "en-US" } });
  all.row = tipRow({ words: (digits) => `#${digits}`, onChoose: (choice) => all.choices.push(choice) });
  onPage(all.row.element);
  all.row.show(tips, bill, choice);
  all.chip = (name) => all.row.element.querySelector(`[data-tip="${name}"]`);
  return all;
}

/** Types an amount of one's own and takes it. */
async function other(all, text) {
  all.chip("other").click();
  const dialog = document.querySelector("dialog");
  dialog.querySelector("[name=tip]").value = text;
  dialog.querySelector(".primary").click();
  const error = dialog.querySelector(".field-error").textContent;
  if (dialog.open) dialog.close("no");
  await gone(dialog);
  return error;
}

test("A tip is what was chosen: a share of the bill, an amount of its own, or nothing", () => {
  equal(chosenTip({ percent: 10 }, "1005"), "101");
  equal(chosenTip({ minor: "250" }, "1005"), "250");
  equal([chosenTip({ none: true }, "1005"), chosenTip(null, "1005"), chosenTip({ percent: 10 }, ""), chosenTip({ minor: "250" }, "")], ["0", "0", "0", "0"]);
});

test("The buttons are those the owner set, up to the largest tip", () => {
  equal([...row().row.element.querySelectorAll("button")].map((chip) => chip.dataset.tip), ["none", "5", "10", "other"]);
});

test("Without tips, and without an amount, there is no row", () => {
  equal([row({ mode: "none" }).row.element.hidden, row(undefined).row.element.hidden, row(null).row.element.hidden, row(TIPS, "").row.element.hidden], [true, false, true, true]);
});

test("What was chosen is shown as pressed, and one's own amount is written there", () => {
  equal(row(TIPS, "1005", { percent: 5 }).chip("5").getAttribute("aria-pressed"), "true");
  equal(row(TIPS, "1005", { none: true }).chip("none").getAttribute("aria-pressed"), "true");
  const own = row(TIPS, "1005", { minor: "250" }).chip("other");
  equal([own.getAttribute("aria-pressed"), own.textContent], ["true", "#250"]);
});

test("A press chooses", () => {
  const all = row();
  all.chip("10").click();
  all.chip("none").click();
  equal(all.choices, [{ percent: 10 }, { none: true }]);
});

test("An amount of one's own is taken up to the largest tip: 2,5 is two and a half", async () => {
  const all = row();
  equal(await other(all, "2,5"), "");
  equal(await other(all, "5.03"), "");
  equal(all.choices, [{ minor: "250" }, { minor: "503" }]);
});

test("One and a half dinars are typed as the shop writes them: 1,500 in German, and 1.500 is refused", async () => {
  const all = row(TIPS, "1005000");
  update({ session: { currencyExponent: 3, locale: "de-DE" } });
  equal(await other(all, "1,500"), "");
  equal(await other(all, "1.500") === "", false);
  equal(all.choices, [{ minor: "1500" }]);
});

test("A tip of nothing is none", async () => {
  const all = row();
  await other(all, "0");
  equal(all.choices, [{ none: true }]);
});

test("A tip that is too large, or no amount, is refused in words", async () => {
  const all = row();
  equal(await other(all, "5.04"), t("tips.tooMuch", { most: "#503" }));
  for (const text of ["", "2 50", "-1", "1.005", "10%"]) equal([text, await other(all, text)], [text, t("tips.bad", { most: "#503" })]);
  equal(all.choices, []);
});
