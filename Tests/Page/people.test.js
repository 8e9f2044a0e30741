import { update } from "/app/store.js";
import { t, useLanguage } from "/app/strings.js";
import { codeView, peopleView } from "/app/views/people.js";
import { clock, fill, onPage, terminal } from "./fakes.js";
import { afterwards, equal, settled, test } from "./harness.js";

await useLanguage(["en"]);

const ADA = { id: "a", name: "Ada", role: "cashier" };

/** The names at a counter, with a stopped clock; `tap(name)` opens that person's keys. */
function counter(session = {}) {
  const all = { time: clock(), done: [], asked: terminal(() => ({ body: { signedIn: true } })) };
  update({ session: { browser: "counter", people: [ADA, { id: "b", name: "Bea", role: "manager" }], ...session } });
  all.view = peopleView({ hasEnded: false, note: null, onDone: async (answer) => { all.done.push(answer); }, onOwner: () => { all.done.push("owner"); } });
  onPage(all.view.element);
  afterwards(() => update({ session: null }));
  const find = (selector) => all.view.element.querySelector(selector);
  const keys = () => [...all.view.element.querySelectorAll(".pin-keys .key")];
  return Object.assign(all, {
    find,
    tap: (name) => [...all.view.element.querySelectorAll(".person-button")].find((button) => button.textContent.includes(name)).click(),
    press: (digits) => [...digits].forEach((digit) => keys().find((key) => key.textContent === digit).click()),
    enter: () => find(".pin-form .primary"),
    async signIn() {
      find(".pin-form").dispatchEvent(new Event("submit", { cancelable: true }));
      for (let turn = 0; turn < 3; turn += 1) await settled();
    },
  });
}

test("Everybody who works here is a name to tap, and the owner has the password", () => {
  const all = counter();
  equal([...all.view.element.querySelectorAll(".person-name")].map((name) => name.textContent), ["Ada", "Bea", t("roles.owner")]);
  all.tap(t("roles.owner"));
  equal(all.done, ["owner"]);
});

test("A name and four digits sign in", async () => {
  const all = counter();
  all.tap("Ada");
  all.press("123");
  equal(all.enter().disabled, true);
  await all.signIn();
  equal(all.asked, []);
  all.press("4");
  equal(all.enter().disabled, false);
  await all.signIn();
  equal([all.asked.map(({ path, body }) => [path, body]), all.done.length], [[["/login/pin", { person: "a", pin: "1234" }]], 1]);
});

test("A PIN has digits only, and eight at most, however it is typed", () => {
  const all = counter();
  all.tap("Ada");
  fill(all.find("[name=pin]"), "12a 3-456789");
  equal([all.find("[name=pin]").value, all.find("#pin-count").textContent], ["12345678", t("people.typed", { count: 8 })]);
});

test("A wrong PIN is said and has to be typed anew", async () => {
  const all = counter();
  all.tap("Ada");
  all.press("1234");
  terminal(() => ({ status: 401, body: { code: "pin_wrong", message: "Wrong PIN.", action: "" } }));
  await all.signIn();
  equal([all.find(".trouble").textContent, all.find("[name=pin]").value, all.enter().disabled], ["Wrong PIN.", "", true]);
});

test("Where the terminal asks for patience no PIN is sent before, however much is typed", async () => {
  const all = counter();
  all.tap("Ada");
  all.press("1234");
  const asked = terminal(() => ({ status: 429, body: { code: "wait", message: "Wait.", action: "" }, headers: { "Retry-After": "5" } }));
  await all.signIn();
  all.press("1234");
  equal(all.enter().disabled, true);
  await all.signIn();
  equal(asked.length, 1);
  await all.time.advance(5_000);
  equal(all.enter().disabled, false);
  await all.signIn();
  equal(asked.length, 2);
});

test("When the wait is over and nothing is typed, there is nothing to send", async () => {
  const all = counter();
  all.tap("Ada");
  all.press("1234");
  terminal(() => ({ status: 429, body: { code: "wait", message: "Wait.", action: "" }, headers: { "Retry-After": "5" } }));
  await all.signIn();
  await all.time.advance(5_000);
  equal(all.enter().disabled, true);
});

test("Escape goes back to the names", () => {
  const all = counter();
  all.tap("Ada");
  all.view.element.dispatchEvent(new KeyboardEvent("keydown", { key: "Escape" }));
  equal(all.view.element.querySelectorAll(".person-button").length, 3);
});

test("On somebody's own phone the PIN is asked for at once", () => {
  const all = counter({ browser: "own", people: [ADA] });
  all.view.ready();
  equal(all.find(".pin-name").textContent.includes("Ada"), true);
});

test("A code that was scanned signs in with one press; one that is typed is asked for", async () => {
  const done = [];
  const asked = terminal(() => ({ body: { signedIn: true } }));
  const scanned = codeView({ code: "ABCD-1234", onDone: async (answer) => done.push(answer) });
  onPage(scanned.element);
  equal(scanned.element.querySelector(".field").hidden, true);
  scanned.element.querySelector("form").dispatchEvent(new Event("submit", { cancelable: true }));
  await settled();
  equal([asked[0].body, done.length], [{ code: "ABCD-1234" }, 1]);
  const typed = codeView({ code: "", onDone: async () => {} });
  onPage(typed.element);
  typed.element.querySelector("form").dispatchEvent(new Event("submit", { cancelable: true }));
  await settled();
  equal([typed.element.querySelector(".field-error").textContent, asked.length], [t("people.codeMissing"), 1]);
});
