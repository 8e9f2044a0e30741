import { clockText, isFinal, isUnrecorded, look, personText, stateBadge } from "/app/charge-words.js";
import { t, useLanguage } from "/app/strings.js";
import { equal, test } from "./harness.js";

await useLanguage(["en"]);

const ENDS = ["succeeded", "failed", "expired", "cancelled"];

test("A charge has ended when its authority has said its last word, and not while the outcome is not known", () => {
  equal(ENDS.filter((state) => !isFinal({ state })), []);
  equal(["created", "requiresAction", "processing", "unknown", "something new"].filter((state) => isFinal({ state })), []);
});

test("A state that this page has never heard of is shown as not known, and never as paid or unpaid", () => {
  for (const state of ["something new", "constructor", "", undefined]) equal([state, look({ state }).tone, look({ state }).word], [state, "unknown", t("state.unknown.word")]);
});

test("An answer that the terminal could not record makes every state not known, and nothing is over by it", () => {
  const reason = { code: "storage_failed", message: "The storage does not work.", action: "Do not charge again.", values: { case: "charge" } };
  for (const state of ["requiresAction", "processing", "failed", "expired", "cancelled"]) {
    const charge = { state, unresolved: true, reason };
    equal([isUnrecorded(charge), isFinal(charge), look(charge).tone, look(charge).todo], [true, false, "unknown", "Do not charge again."]);
  }
  equal(isUnrecorded({ state: "requiresAction", unresolved: true, reason: { code: "gateway_silent" } }), false);
});

test("What is not known says not to charge again", () => {
  equal(look({ state: "unknown" }).todo, t("state.unknown.todo"));
});

test("A promise is no payment, a refund no sale, and a refusal no failure of the terminal", () => {
  equal(look({ state: "processing", promised: true }).tone, "promised");
  equal(look({ state: "succeeded", givenBack: true }).word, t("state.givenBack.word"));
  equal(look({ state: "failed", refused: true }).tone, "refused");
  // Only in the state that they belong to.
  equal(["succeeded", "failed", "processing"].map((state) => look({ state, promised: state === "succeeded", givenBack: state === "failed", refused: state === "processing" }).tone), ["paid", "failed", "processing"]);
});

test("Paid late is paid, and says that it was late", () => {
  const charge = look({ state: "succeeded", late: true });
  equal([charge.tone, charge.word], ["paid", t("state.late.word")]);
});

test("Who confirmed a payment is named where it is known, and nobody is made up", () => {
  equal(look({ state: "succeeded", confirmedBy: "acquirer" }).what, t("state.confirmedBy.acquirer"));
  equal(look({ state: "succeeded", confirmedBy: "gateway" }).what, t("state.confirmedBy.gateway"));
  equal(look({ state: "succeeded", confirmedBy: "somebody" }).what, t("state.succeeded.what"));
});

test("The terminal's own reason stands before the page's words", () => {
  const { what, todo } = look({ state: "failed", reason: { message: "The card is stolen.", action: "Call." } });
  equal([what, todo], ["The card is stolen.", "Call."]);
});

test("A state is shown by colour, shape and word", () => {
  const badge = stateBadge({ state: "succeeded" });
  equal([badge.querySelector(".disc").className, badge.querySelectorAll("svg").length, badge.textContent], ["disc tone-paid", 1, t("state.succeeded.word")]);
  const shapes = ENDS.concat("unknown", "processing").map((state) => stateBadge({ state }).querySelector("svg").innerHTML);
  equal(new Set(shapes).size, shapes.length);
});

test("Who did something is said by name, and never as staff:Ada", () => {
  equal([personText("staff:Ada"), personText("staff:Ada:Bea"), personText("staff:owner")], ["Ada", "Ada:Bea", t("roles.owner")]);
  equal([personText("till:7"), personText("gateway"), personText("robot")], [t("detail.till", { name: "7" }), t("detail.who.gateway"), "robot"]);
});

test("Seconds left are minutes and seconds, and never less than nothing", () => {
  equal([0, 5, 59, 60, 61.9, 600, -3].map(clockText), ["0:00", "0:05", "0:59", "1:00", "1:01", "10:00", "0:00"]);
});
