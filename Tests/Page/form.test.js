import {
  busyButton, checkField, choiceField, linesField, notice, secretField, showFieldErrors, textField, toast, waitOut,
} from "/app/form.js";
import { clockText } from "/app/charge-words.js";
import { t, useLanguage } from "/app/strings.js";
import { clock, fill, onPage } from "./fakes.js";
import { afterwards, equal, settled, test, throws } from "./harness.js";

await useLanguage(["en"]);

const problem = (message) => ({ code: "wrong", message, action: "" });
/** What a screen reader says of a field beside its label. */
const described = ({ control }) => (control.getAttribute("aria-describedby") ?? "").split(" ").filter(Boolean).map((id) => document.getElementById(id).textContent);

test("A field is named by its label and described by its help", () => {
  const field = textField("amount", { label: "Amount", help: "In euros", value: "12,50" });
  onPage(field.element);
  equal([field.control.labels[0].textContent, described(field), field.value, field.control.name], ["Amount", ["In euros"], "12,50", "amount"]);
});

test("An error is said at its field, before the help, until it is taken away", () => {
  const field = textField("amount", { label: "Amount", help: "In euros" });
  onPage(field.element);
  field.setError("Not an amount");
  equal([described(field), field.control.getAttribute("aria-invalid"), field.element.querySelector(".field-error").hidden], [["Not an amount", "In euros"], "true", false]);
  field.setError(null);
  equal([described(field), field.control.hasAttribute("aria-invalid"), field.element.querySelector(".field-error").hidden], [["In euros"], false, true]);
});

test("A field without help that is right again is described by nothing", () => {
  const field = textField("amount", { label: "Amount" });
  onPage(field.element);
  field.setError("Not an amount");
  field.setError(null);
  equal(field.control.hasAttribute("aria-describedby"), false);
});

test("An error with markup in it is text", () => {
  const field = textField("amount", { label: "Amount" });
  field.setError("<b>x</b>");
  equal([field.element.querySelector("b"), field.element.querySelector(".field-error").textContent], [null, "<b>x</b>"]);
});

test("What the terminal refuses is said at each field, and the first of them is gone to", () => {
  const fields = ["name", "amount", "reference"].map((name) => textField(name, { label: name }));
  for (const field of fields) onPage(field.element);
  fields[0].setError("An error of before");
  equal(showFieldErrors(fields, { fields: { reference: { ...problem("Too long"), action: "Take 35 at most." }, amount: problem("Too much") } }), 2);
  // The advice holds what the field takes.
  equal(fields.map((field) => field.element.querySelector(".field-error").textContent), ["", "Too much", "Too long Take 35 at most."]);
  equal(document.activeElement === fields[1].control, true);
});

test("A yes or no among the fields, which has no place for an error, keeps no other error from being said", () => {
  const fields = [checkField("enabled", { label: "Enabled", checked: true }), textField("host", { label: "Host" })];
  for (const field of fields) onPage(field.element);
  equal(showFieldErrors(fields, { fields: { host: problem("No such host") } }), 1);
  equal([described(fields[1]), document.activeElement === fields[1].control], [["No such host"], true]);
});

test("Only errors that were shown are counted: what is said at no field is said for the whole form", () => {
  const fields = [checkField("enabled", { label: "Enabled", checked: true }), textField("host", { label: "Host" })];
  for (const field of fields) onPage(field.element);
  equal([showFieldErrors(fields, { fields: { version: problem("Old") } }), showFieldErrors(fields, { fields: { enabled: problem("No") } })], [0, 0]);
});

test("A refusal that is about no field is none at the fields", () => {
  const field = textField("name", { label: "Name" });
  onPage(field.element);
  equal([showFieldErrors([field], { fields: {} }), field.control.hasAttribute("aria-invalid")], [0, false]);
});

test("Lines are read one by one, without the empty ones", () => {
  const field = linesField("wallets", { label: "Wallets", lines: ["one", "two"] });
  equal(field.lines, ["one", "two"]);
  fill(field.control, "  one \n\n two\r\n   \n");
  equal(field.lines, ["one", "two"]);
  fill(field.control, "");
  equal(field.lines, []);
});

test("A choice begins with what is set, also within a group", () => {
  const groups = [[null, [["", "Choose"]]], ["Common", [["EUR", "Euro"], ["USD", "Dollar"]]]];
  equal([choiceField("c", { label: "C", value: "USD", groups }).value, choiceField("c", { label: "C", value: "", groups }).value], ["USD", ""]);
});

test("A yes or no is read and explained", () => {
  const field = checkField("enabled", { label: "Enabled", help: "For all", checked: true });
  onPage(field.element);
  equal([field.checked, described(field), checkField("enabled", { label: "Enabled", checked: false }).checked], [true, ["For all"], false]);
});

test("A secret is hidden until it is asked to be shown", () => {
  const field = secretField("password", { label: "Password", autocomplete: "current-password" });
  const button = field.element.querySelector("button");
  equal([field.control.type, button.getAttribute("aria-label")], ["password", t("password.show")]);
  button.click();
  equal([field.control.type, button.getAttribute("aria-label")], ["text", t("password.hide")]);
  button.click();
  equal([field.control.type, button.type], ["password", "button"]);
});

test("A password says its strength by its length, counted in letters and not in bytes", () => {
  const field = secretField("password", { label: "Password", autocomplete: "new-password", withStrength: 8 });
  const hint = field.element.querySelector(".strength");
  const level = (text) => {
    fill(field.control, text);
    return hint.dataset.level;
  };
  equal(["", "a".repeat(7), "a".repeat(8), "a".repeat(14), "a".repeat(15), "a".repeat(64), "a".repeat(65)].map(level), ["none", "short", "fair", "fair", "good", "good", "long"]);
  equal(["😀".repeat(7), "😀".repeat(8), "😀".repeat(64)].map(level), ["short", "fair", "good"]);
  level("a".repeat(7));
  equal(hint.querySelector(".strength-words").textContent, t("password.tooShort", { missing: 1 }));
});

test("A button that works says so and cannot be pressed twice", async () => {
  const button = busyButton({ label: "Save", busyLabel: "Saving…" });
  let done;
  let runs = 0;
  const work = () => { runs += 1; return new Promise((resolve) => { done = resolve; }); };
  const first = button.during(work);
  await button.during(work);
  equal([runs, button.isBusy, button.element.textContent, button.element.getAttribute("aria-disabled")], [1, true, "Saving…", "true"]);
  button.setLabel("Save again");
  equal(button.element.textContent, "Saving…");
  done();
  await first;
  equal([button.isBusy, button.element.textContent, button.element.hasAttribute("aria-disabled")], [false, "Save again", false]);
});

test("A button can be pressed again after its work has failed", async () => {
  const button = busyButton({ label: "Save", busyLabel: "Saving…" });
  await throws(() => button.during(async () => { throw new Error("no"); }));
  equal([button.isBusy, button.element.textContent], [false, "Save"]);
});

test("Where the terminal asks for patience the button waits, and the seconds are counted down", async () => {
  const time = clock();
  const place = onPage(document.createElement("div"));
  const button = document.createElement("button");
  waitOut(3, button, place, clockText);
  equal([button.disabled, place.textContent], [true, t("wait.tryAgainIn", { time: "0:03" })]);
  await time.advance(2_000);
  equal([button.disabled, place.textContent], [true, t("wait.tryAgainIn", { time: "0:01" })]);
  await time.advance(1_000);
  equal([button.disabled, place.textContent, time.next], [false, "", null]);
});

test("A wait ends with the words about it", async () => {
  const time = clock();
  const place = onPage(document.createElement("div"));
  const button = document.createElement("button");
  waitOut(600, button, place, clockText);
  place.replaceChildren();
  await time.advance(250);
  equal([button.disabled, time.next], [false, null]);
});

test("A word goes by itself, a bad one later, and both are heard", async () => {
  const time = clock();
  const main = onPage(document.createElement("main"));
  toast("Saved");
  toast("Not saved", { isBad: true });
  const words = () => [...main.querySelectorAll(".toast")].map((element) => element.textContent);
  equal([words(), main.querySelectorAll(".toasts").length], [["Saved", "Not saved"], 1]);
  await time.advance(4_000);
  equal(words(), ["Not saved"]);
  await time.advance(4_000);
  equal(words(), []);
});

test("A message about a form has a title, and more where there is more", () => {
  equal([notice("bad", "No", "Try again").textContent, notice("good", "Yes").querySelectorAll("p").length], ["NoTry again", 1]);
});
