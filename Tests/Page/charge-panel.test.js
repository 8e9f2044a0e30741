import { state, update } from "/app/store.js";
import { t, useLanguage } from "/app/strings.js";
import { chargePanel } from "/app/views/charge-panel.js";
import { arrival, forgetAmount } from "/app/views/keypad.js";
import { clock, gone, onPage, terminal } from "./fakes.js";
import { afterwards, equal, settled, test } from "./harness.js";

await useLanguage(["en"]);

const CHARGE = { id: "7", state: "requiresAction", amountText: "€12.50", amountMinor: 1250, code: "K7", canCancel: true, createdAt: "2026-11-27T10:00:00Z", deadline: "2026-11-27T10:05:00Z", secondsLeft: null };

/** The panel of this charge, with a stopped clock. `isHeld`: the terminal is busy with it. */
function panel(more = {}, isHeld = true) {
  const all = { time: clock() };
  const show = (facts) => {
    const charge = { ...CHARGE, ...facts };
    update({ session: { signedIn: true, role: "owner", currency: "EUR", currencyExponent: 2, locale: "en-US" }, terminal: isHeld ? { phase: "charging", charge } : { phase: "idle", charge: null }, followed: charge, followedAt: performance.now() });
    all.panel.update();
  };
  all.panel = chargePanel();
  onPage(all.panel.element);
  show(more);
  afterwards(() => {
    all.panel.end();
    arrival.note = null;
    forgetAmount();
    update({ session: null, terminal: null, followed: null });
    sessionStorage.clear();
  });
  const find = (selector) => all.panel.element.querySelector(selector);
  return Object.assign(all, {
    find, show,
    says: () => find(".panel-title").textContent,
    offers: () => [...find(".panel-actions").children].map((element) => element.dataset.act ?? "details"),
    press: (act) => find(`[data-act=${act}]`).click(),
    async answer(isYes) {
      const dialog = document.querySelector("dialog");
      dialog.querySelectorAll(".dialog-buttons button")[isYes ? 1 : 0].click();
      await gone(dialog);
    },
  });
}

test("Each state has its title, its colour and the amount", () => {
  const all = panel();
  for (const [name, tone] of [["created", "calm"], ["processing", "processing"], ["succeeded", "paid"], ["failed", "failed"], ["expired", "expired"], ["cancelled", "cancelled"], ["unknown", "unknown"]]) {
    all.show({ state: name });
    equal([name, all.says(), all.panel.element.dataset.tone, all.find(".panel-amount").textContent, document.title], [name, t(`state.${name}.title`), tone, "€12.50", `${t(`state.${name}.title`)} · €12.50`]);
  }
});

test("While the terminal is busy with it, a charge can be cancelled or let go only where the terminal says so", () => {
  equal([panel().offers(), panel({ canCancel: false, canRelease: true }).offers(), panel({ canCancel: false }).offers()], [["cancel"], ["release"], []]);
});

test("A question and an error go where the charge is not as it was", async () => {
  const all = panel();
  all.press("cancel");
  all.show({ state: "requiresAction", secondsLeft: 100 });
  equal(document.querySelectorAll("dialog").length, 1, "the charge can still be cancelled");
  const dialog = document.querySelector("dialog");
  all.show({ state: "succeeded", canCancel: false });
  await gone(dialog);
  equal([all.says(), document.querySelectorAll("dialog").length], [t("state.succeeded.title"), 0]);
});

test("Nobody is offered to go on without an answer that is on its way", async () => {
  const all = panel({ state: "processing", canCancel: false, canRelease: true, releaseInSeconds: 20, processingSeconds: 0 });
  equal([all.offers(), all.find(".panel-under-way").textContent], [[], t("charge.underWay", { time: "0:00" })]);
  await all.time.advance(19_500);
  equal([all.offers(), all.find(".panel-under-way").textContent], [[], t("charge.underWay", { time: "0:19" })]);
  await all.time.advance(1_000);
  equal(all.offers(), ["release"]);
});

test("Where nobody answers, staff are offered to go on at once", () => {
  equal(panel({ state: "processing", canCancel: false, canRelease: true, releaseInSeconds: 0, processingSeconds: 3, unresolved: true }).offers(), ["release"]);
  equal(panel({ state: "unknown", canCancel: false, canRelease: true, releaseInSeconds: 0, processingSeconds: null }).offers(), ["release"]);
});

test("A tip is said before it is paid, beside what it is added to", () => {
  for (const name of ["created", "requiresAction", "processing", "succeeded"]) {
    equal([name, panel({ state: name, amountText: "€13.75", amountMinor: 1375, tipMinor: 125, tipText: "€1.25" }).find(".panel-split").textContent], [name, "€12.50 + tip €1.25"]);
  }
  // On the customer's phone it was added to what staff asked for.
  equal(panel({ amountText: "€13.50", amountMinor: 1250, tipMinor: null, tipText: "€1.00" }).find(".panel-split").textContent, "€12.50 + tip €1.00");
  equal(panel().find(".panel-split").hidden, true);
});

test("An open charge that the terminal has let go leaves the way free for the next customer, and is not charged again", () => {
  const all = panel({ state: "unknown", canCancel: false }, false);
  equal([all.offers(), all.find(".panel-todo").textContent], [["next", "details"], t("state.unknown.todo")]);
  equal(all.find(".panel-doubt").textContent, t("charge.background"));
});

test("A charge whose answer could not be recorded is not known, runs no clock and is charged again by nobody", () => {
  const reason = { code: "storage_failed", message: "The storage does not work.", action: "Do not charge again.", values: { case: "charge" } };
  const unrecorded = { unresolved: true, canCancel: false, canRelease: false, reason };
  const all = panel({ ...unrecorded, secondsLeft: null });
  equal([all.says(), all.find(".panel-what").textContent, all.find(".panel-todo").textContent], [t("state.unknown.title"), reason.message, reason.action]);
  equal([all.offers(), all.find("[role=timer]").hidden, all.panel.element.dataset.tone], [[], true, "unknown"]);
  equal(panel({ ...unrecorded, state: "expired" }, false).offers(), ["next", "details"]);
});

test("What is paid is not charged again, and what is not can be", () => {
  equal(panel({ state: "succeeded" }, false).offers(), ["new", "details"]);
  for (const name of ["failed", "expired", "cancelled"]) equal([name, panel({ state: name }, false).offers()], [name, ["again", "new", "details"]]);
});

test("Charging again puts the amount on the keypad and charges nothing by itself", () => {
  const all = panel({ state: "failed", reference: "Table 7" }, false);
  const asked = terminal(() => ({ body: {} }));
  all.press("again");
  equal([state.followed, asked.length, JSON.parse(sessionStorage.getItem("till.draft")).sum.digits], [null, 0, "1250"]);
});

test("Cancelling asks first, and no asks nobody", async () => {
  const all = panel();
  const asked = terminal(() => ({ body: { ...CHARGE, state: "cancelled" } }));
  all.press("cancel");
  await all.answer(false);
  equal([asked.length, document.activeElement === all.find("[data-act=cancel]")], [0, true]);
  all.press("cancel");
  await all.answer(true);
  equal([asked.map(({ method, path }) => [method, path]), state.followed.state], [[["POST", "/charges/7/cancel"]], "cancelled"]);
});

test("A final word that came meanwhile is not taken back by an earlier answer", async () => {
  const all = panel();
  let answer;
  terminal(() => new Promise((resolve) => { answer = () => resolve({ body: { ...CHARGE, canCancel: false } }); }));
  all.press("cancel");
  await all.answer(true);
  all.show({ state: "succeeded" });
  answer();
  await settled();
  equal([state.followed.state, all.says()], ["succeeded", t("state.succeeded.title")]);
});

test("What did not work is said, and can be tried again", async () => {
  const all = panel();
  terminal(() => { throw new TypeError("Failed to fetch"); });
  all.press("cancel");
  await all.answer(true);
  equal([all.find(".trouble").textContent, all.find("[data-act=cancel]").disabled], [`${t("trouble.noAnswer")}${t("trouble.noAnswerAction")}`, false]);
});

test("A charge that is being cancelled says so, and does not look as if it waited", () => {
  equal(panel({ canCancel: false }).find(".panel-what").textContent, t("charge.cancelling"));
});

test("The time to pay runs by itself, ends at nothing, and is not shown once somebody has paid", async () => {
  const all = panel({ secondsLeft: 62 });
  const time = () => all.find(".panel-clock-words").textContent;
  equal(time(), t("charge.timeLeft", { time: "1:02" }));
  await all.time.advance(2_500);
  equal(time(), t("charge.timeLeft", { time: "1:00" }));
  await all.time.advance(90_000);
  equal([time(), all.time.next], [t("charge.timeOver"), null]);
  all.show({ state: "processing", secondsLeft: 30 });
  equal([all.find(".panel-clock").hidden, all.time.next], [true, null]);
});

test("The terminal's seconds set the clock right", async () => {
  const all = panel({ secondsLeft: 62 });
  await all.time.advance(10_000);
  all.show({ secondsLeft: 300 });
  equal(all.find(".panel-clock-words").textContent, t("charge.timeLeft", { time: "5:00" }));
});

test("A doubt is said beside the state, and does not change it", () => {
  const all = panel({ state: "processing", unresolved: true, reason: { message: "The gateway does not answer.", action: "Wait." } });
  equal([all.says(), all.find(".panel-what").textContent, all.find(".panel-doubt").textContent, all.find(".panel-todo").hidden],
    [t("state.processing.title"), t("state.processing.what"), "The gateway does not answer. Wait.", true]);
});

test("Another amount than was asked for is said", () => {
  equal(panel({ state: "succeeded", evidence: { paidAmountText: "13.10 USDC" } }).find(".panel-facts").textContent.includes("13.10 USDC"), true);
  equal(panel({ state: "succeeded", evidence: { paidAmountText: "€12.50" } }).find(".panel-facts").textContent.includes(t("detail.evidenceNames.paidAmountText")), false);
});

test("A button that has the focus keeps it when the words around it change", () => {
  const all = panel();
  all.find("[data-act=cancel]").focus();
  all.show({ reference: "Table 7" });
  equal(document.activeElement === all.find("[data-act=cancel]"), true);
});

test("Why somebody else's charge stands here is said until it is put away", () => {
  arrival.note = t("keypad.busyElsewhere");
  const all = panel({ state: "succeeded" }, false);
  equal(all.find(".panel-doubt").textContent, t("keypad.busyElsewhere"));
  all.press("new");
  equal(arrival.note, null);
});
