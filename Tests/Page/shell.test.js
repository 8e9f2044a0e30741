import { makeShell } from "/app/shell.js";
import { state, update } from "/app/store.js";
import { t, useLanguage } from "/app/strings.js";
import { clock, onPage, terminal } from "./fakes.js";
import { afterwards, equal, settled, test } from "./harness.js";

await useLanguage(["en"]);

/** The frame of a set-up terminal around a page, before whoever has that role. */
function frame(session = {}) {
  const all = { signedOut: 0, switched: 0 };
  update({ session: { signedIn: true, setUp: true, role: "owner", merchantName: "Café", ...session }, terminal: null, recent: null, followed: null, link: "live" });
  all.shell = makeShell({ onSignOut: () => { all.signedOut += 1; }, onSwitch: () => { all.switched += 1; } });
  onPage(all.shell.element);
  all.shell.update();
  afterwards(() => update({ session: null, terminal: null, recent: null, followed: null, link: "connecting" }));
  all.find = (selector) => all.shell.element.querySelector(selector);
  all.hears = (facts) => { update(facts); all.shell.update(); };
  return all;
}

const notice = (id, more = {}) => ({ id, kind: "late", amountText: "€12.50", code: "K7", at: "2026-11-27T10:00:00Z", ...more });

test("The owner goes to the settings, and everybody else to a page of their own", () => {
  const places = (role) => [...frame({ role }).shell.element.querySelectorAll("[data-place]")].filter((link) => link.matches("a")).map((link) => link.dataset.place);
  equal([places("owner"), places("manager"), places("cashier")], [["charge", "history", "settings"], ["charge", "history", "me"], ["charge", "history", "me"]]);
});

test("The page that is shown is marked among the ways to go", () => {
  const { shell, find } = frame();
  shell.show(document.createElement("p"), "history");
  equal([find("[data-place=history]").getAttribute("aria-current"), find("[data-place=charge]").hasAttribute("aria-current")], ["page", false]);
  shell.show(document.createElement("p"), "charge");
  equal(find("[data-place=history]").hasAttribute("aria-current"), false);
});

test("Before the set-up there is nowhere to go", () => {
  equal([frame({ setUp: false }).find(".nav").hidden, frame().find(".nav").hidden], [true, false]);
});

test("At a counter one tap gives the terminal to the next person, and elsewhere there is none", () => {
  const counter = frame({ browser: "counter", name: "Ada" });
  counter.find(".person-chip").click();
  equal([counter.find(".person-chip").hidden, counter.find(".person-chip").textContent, counter.switched], [false, "Ada", 1]);
  equal(frame({ browser: "own", name: "Ada" }).find(".person-chip").hidden, true);
});

test("The gateway's light is what the terminal said, and a word that the page does not know is not checked yet", () => {
  const { find, hears } = frame();
  equal(find(".gateway").hidden, true);
  for (const [light, words] of [["ready", "ready"], ["unreachable", "unreachable"], ["refused", "refused"], ["clock", "clock"], ["paused", "paused"], ["dancing", "unknown"]]) {
    hears({ terminal: { gateway: light } });
    equal([light, find(".gateway").textContent, find(".gateway").hidden], [light, t(`gateway.${words}`), false]);
  }
});

test("Without the terminal nothing is said of the gateway", () => {
  const { find, hears } = frame();
  hears({ terminal: { gateway: "ready" }, link: "lost" });
  equal(find(".gateway").hidden, true);
  hears({ link: "live" });
  equal(find(".gateway").hidden, false);
});

test("A lost connection is said as long as it lasts", () => {
  const { find, hears } = frame();
  hears({ link: "lost" });
  equal(find(".body > .banner").textContent, t("link.lost"));
  hears({ link: "live" });
  equal(find(".body > .banner").textContent, "");
});

test("Of payments that nobody waited for two are shown and the others counted", () => {
  const { find, hears } = frame();
  hears({ terminal: { notices: ["1", "2", "3", "4"].map((id) => notice(id)) } });
  equal([find(".notices").querySelectorAll(".banner").length, find(".notices-more").textContent], [2, t("notice.more", { count: 2 })]);
  hears({ terminal: { notices: [] } });
  equal(find(".notices").children.length, 0);
});

test("Everybody hears that a new owner password is asked for, and the owner refuses it", async () => {
  const waiting = { state: "waiting", minutes: 14 };
  for (const role of ["owner", "manager", "cashier"]) {
    const { shell, find, hears } = frame({ role });
    hears({ terminal: { notices: [], ownerReset: waiting } });
    equal(find(".reset-line .grow").textContent.startsWith(t("reset.asked", { count: 14 })), true);
    equal(find(".reset-line .grow").textContent.includes(t("reset.askedStaff")), role !== "owner");
    equal(find(".reset-line button") !== null, role === "owner");
    if (role === "owner") {
      onPage(document.createElement("main"));
      const asked = terminal(() => ({ body: {} }));
      shell.element.querySelector(".reset-line button").click();
      await settled();
      equal(asked.map(({ method, path }) => `${method} ${path}`), ["DELETE /reset"]);
    }
    hears({ terminal: { notices: [], ownerReset: { state: "shown", minutes: null } } });
    equal(find(".reset-line .grow").textContent.startsWith(t("reset.askedShown")), true);
    hears({ terminal: { notices: [], ownerReset: null } });
    equal(find(".reset-line"), null);
  }
});

test("Paid twice is said as such, and late as late", () => {
  const { shell, hears } = frame();
  hears({ terminal: { notices: [notice("1", { kind: "paidTwice" }), notice("2")] } });
  const values = { amount: "€12.50", code: "K7" };
  const words = [...shell.element.querySelectorAll(".notices .grow")].map((line) => line.textContent);
  equal(words.map((text, index) => text.startsWith(t(index === 0 ? "notice.paidTwice" : "notice.late", { ...values, time: "|" }).split("|")[0])), [true, true]);
});

test("Somebody has seen it: the terminal is told, once, and again where it did not answer", async () => {
  const { shell, find, hears } = frame();
  onPage(document.createElement("main"));
  hears({ terminal: { notices: [notice("7")] } });
  const seen = [...shell.element.querySelectorAll(".notices button")].at(-1);
  clock();
  const silent = terminal(() => { throw new TypeError("Failed to fetch"); });
  seen.click();
  equal(seen.disabled, true);
  await settled();
  equal([silent.map(({ path }) => path), seen.disabled, find(".toast").textContent], [["/charges/7/seen"], false, t("trouble.noAnswer")]);
  const asked = terminal(() => ({ body: "" }));
  seen.click();
  await settled();
  equal([asked.length, seen.disabled], [1, true]);
});

test("The last charge stands on every page, but not beside itself", () => {
  const { shell, find, hears } = frame();
  const charge = { id: "7", state: "succeeded", amountText: "€12.50", createdAt: "2026-11-27T10:00:00Z" };
  shell.show(document.createElement("p"), "charge");
  hears({ recent: [charge] });
  equal([find(".strip-place").hidden, find(".last-strip-amount").textContent], [false, "€12.50"]);
  hears({ followed: charge });
  equal(find(".strip-place").hidden, true);
  shell.show(document.createElement("p"), "history");
  shell.update();
  equal(find(".strip-place").hidden, false);
  equal(state.followed.id, "7");
});

test("What the till shows on the screen is said, with the customer's answers to press", async () => {
  const { shell, hears } = frame();
  hears({ terminal: { message: { id: "m", title: "Receipt?", text: "", options: ["Yes", "No"] } } });
  const buttons = [...shell.element.querySelectorAll(".till-message button")];
  equal(buttons.map((button) => button.textContent), ["Yes", "No", t("message.take")]);
  const asked = terminal(() => ({ body: "" }));
  buttons[1].click();
  await settled();
  equal(asked.map(({ method, path, body }) => [method, path, body]), [["PUT", "/screen/m", { answer: 1 }]]);
});

test("A name with markup in it is text", () => {
  equal(frame({ merchantName: "<b>Café</b>" }).find(".merchant").textContent, "<b>Café</b>");
});
