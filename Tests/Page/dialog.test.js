import { ask } from "/app/dialog.js";
import { h } from "/app/dom.js";
import { afterwards, equal, test } from "./harness.js";

/** Asks a question; `press(name)` answers by "yes", "no", "outside" or a key in its field. */
function asked(more = {}) {
  const answer = ask({ title: "Cancel?", text: "€12.50 will be cancelled.", yes: "Cancel", no: "Keep", ...more });
  const dialog = [...document.querySelectorAll("dialog")].at(-1);
  afterwards(async () => {
    dialog.close("no");
    await answer;
  });
  const [no, yes] = dialog.querySelectorAll(".dialog-buttons button");
  const key = (name) => dialog.querySelector("input, textarea").dispatchEvent(new KeyboardEvent("keydown", { key: name, bubbles: true, cancelable: true }));
  return { answer, dialog, no, yes, key, outside: () => dialog.dispatchEvent(new MouseEvent("click")) };
}

test("Yes is yes, and everything else is no", async () => {
  for (const [name, wanted] of [["yes", true], ["no", false], ["outside", false], ["escape", false]]) {
    const { answer, dialog, no, yes, outside } = asked();
    if (name === "outside") outside();
    else if (name === "escape") dialog.requestClose?.() ?? dialog.close();
    else ({ yes, no })[name].click();
    equal([name, await answer, document.querySelector("dialog")], [name, wanted, null]);
  }
});

test("The question is named and described, and the harmless answer has the focus", () => {
  const { dialog, no } = asked();
  equal(["aria-labelledby", "aria-describedby"].map((name) => document.getElementById(dialog.getAttribute(name)).textContent), ["Cancel?", "€12.50 will be cancelled."]);
  equal(document.activeElement === no, true);
});

test("A click inside the question does not answer it", async () => {
  const { answer, dialog, no } = asked();
  dialog.querySelector("h2").dispatchEvent(new MouseEvent("click", { bubbles: true }));
  equal(dialog.open, true);
  no.click();
  await answer;
});

test("Yes to what is not filled in rightly leaves the question open, and no needs nothing", async () => {
  let isRight = false;
  const { answer, dialog, yes } = asked({ check: () => isRight });
  yes.click();
  equal(dialog.open, true);
  isRight = true;
  yes.click();
  equal(await answer, true);
  const other = asked({ check: () => false });
  other.no.click();
  equal(await other.answer, false);
});

test("Enter in its field is yes, and the page behind does not take it for its own", async () => {
  let behind = 0;
  const listen = () => { behind += 1; };
  document.addEventListener("keydown", listen);
  afterwards(() => document.removeEventListener("keydown", listen));
  const { answer, dialog, key } = asked({ extra: h("div", {}, h("input", {})) });
  equal(document.activeElement === dialog.querySelector("input"), true);
  key("a");
  equal([behind, dialog.open], [1, true]);
  key("Enter");
  equal([await answer, behind], [true, 1]);
});

test("Enter in several lines of text is a new line", () => {
  const { dialog, key } = asked({ extra: h("div", {}, h("textarea", {})) });
  key("Enter");
  equal(dialog.open, true);
});

test("What is grave looks grave", () => {
  equal([asked({ isGrave: true }).yes.className, asked().yes.className], ["button grave", "button primary"]);
});
