import { asking, follow, hear, isHeld, putAway, reattach } from "/app/following.js";
import { begin, pending } from "/app/intent.js";
import { state, update } from "/app/store.js";
import { useLanguage } from "/app/strings.js";
import { clock, terminal } from "./fakes.js";
import { afterwards, equal, test, throws } from "./harness.js";

await useLanguage(["en"]);

const charge = (id, name = "requiresAction", more = {}) => ({ id, state: name, amountMinor: 1250, ...more });
const charging = (one) => ({ phase: "charging", charge: one, at: "2026-11-27T10:00:00Z" });

/** A signed-in page that shows nothing yet, with a stopped clock. */
function page() {
  const time = clock();
  afterwards(() => {
    update({ terminal: null, followed: null, session: null, clockAhead: 0 });
    putAway();
    sessionStorage.clear();
  });
  update({ session: { signedIn: true }, terminal: null, followed: null });
  return time;
}

test("What the terminal charges is shown, whoever pressed the button", () => {
  page();
  hear(charging(charge("7")));
  equal([state.followed.id, state.link, isHeld(state.followed)], ["7", "live", true]);
});

test("A running charge cannot be put away, and one that ended can", () => {
  page();
  hear(charging(charge("7")));
  putAway();
  equal(state.followed.id, "7");
  hear(charging(charge("7", "succeeded", { holdsTerminal: false })));
  putAway();
  equal(state.followed, null);
});

test("Whoever goes on takes the last customer's result off the terminal's screen too, and a failure of that holds nobody up", async () => {
  const time = page();
  const asked = terminal(() => { throw new TypeError("Failed to fetch"); });
  hear(charging(charge("7")));
  putAway();
  hear(charging(charge("7", "processing", { holdsTerminal: false })));
  putAway();
  await time.advance(0);
  equal([state.followed, asked.map(({ method, path }) => [method, path])], [null, [["POST", "/charges/7/put-away"]]]);
  // Another charge has the screen by now.
  follow(charge("6", "succeeded"));
  hear(charging(charge("8")));
  follow(charge("6", "succeeded"));
  putAway();
  await time.advance(0);
  equal(asked.length, 1);
});

test("A charge that was put away does not come back with the terminal's next word about it", () => {
  page();
  hear(charging(charge("7", "succeeded", { holdsTerminal: false })));
  equal(state.followed, null);
});

test("The end of the charge that is shown is shown, also after it let the terminal go", () => {
  page();
  hear(charging(charge("7")));
  hear(charging(charge("7", "succeeded", { holdsTerminal: false })));
  equal([state.followed.state, isHeld(state.followed)], ["succeeded", false]);
});

test("Whose outcome is open and whom the terminal has let go is asked about until the end is known", async () => {
  const time = page();
  let answer = charge("7", "unknown");
  const asked = terminal(() => ({ body: answer }));
  follow(charge("7", "unknown"));
  await time.advance(9_000);
  equal(asked.map(({ path }) => path), ["/charges/7", "/charges/7", "/charges/7"]);
  answer = charge("7", "succeeded");
  await time.advance(3_000);
  equal([state.followed.state, time.next], ["succeeded", null]);
});

test("A question without an answer is asked again", async () => {
  const time = page();
  const asked = terminal(() => { throw new TypeError("Failed to fetch"); });
  follow(charge("7", "processing"));
  await time.advance(9_000);
  equal([asked.length, state.followed.id], [3, "7"]);
});

test("Nobody is asked about a running charge, nor after signing out", () => {
  const time = page();
  hear(charging(charge("7")));
  equal(time.next, null);
  update({ session: { signedIn: false }, terminal: { phase: "idle" } });
  follow(charge("7"));
  equal(time.next, null);
});

test("The terminal has moved on from an open charge: it is asked about at once", async () => {
  const time = page();
  const asked = terminal(() => ({ body: charge("7", "expired") }));
  hear(charging(charge("7")));
  hear({ phase: "idle", charge: null, at: "2026-11-27T10:00:00Z" });
  await time.advance(0);
  equal([asked.length, state.followed.state], [1, "expired"]);
});

test("The terminal's event overtakes the answer that opened the charge, and stays", () => {
  page();
  const show = asking();
  hear(charging(charge("7", "requiresAction")));
  show(charge("7", "created"));
  equal(state.followed.state, "requiresAction");
});

test("An event about another charge, or from before the question, overtakes no answer", () => {
  page();
  hear(charging(charge("6", "succeeded", { holdsTerminal: false })));
  hear(charging(charge("7", "created")));
  const show = asking();
  show(charge("7", "requiresAction"));
  equal(state.followed.state, "requiresAction");
  hear(charging(charge("6", "succeeded", { holdsTerminal: false })));
  show(charge("7", "processing"));
  equal(state.followed.state, "processing");
});

test("What is asked because the terminal has moved on does not overwrite what it says next", async () => {
  const time = page();
  let answered;
  terminal(() => new Promise((resolve) => { answered = () => resolve({ body: charge("7", "requiresAction") }); }));
  hear(charging(charge("7")));
  hear({ phase: "idle", charge: null, at: "2026-11-27T10:00:00Z" });
  hear(charging(charge("7", "succeeded", { holdsTerminal: false })));
  answered();
  await time.advance(0);
  equal(state.followed.state, "succeeded");
});

test("An answer about a charge that was put away meanwhile does not bring it back", async () => {
  const time = page();
  let answered;
  terminal(() => new Promise((resolve) => { answered = () => resolve({ body: charge("7", "succeeded") }); }));
  follow(charge("7", "unknown"));
  await time.advance(3_000);
  putAway();
  answered();
  await time.advance(0);
  equal(state.followed, null);
});

test("Where a charge runs at the terminal, a reload shows it, in whatever browser", async () => {
  page();
  terminal(({ path }) => (path === "/charges/current" ? { body: charge("8") } : { status: 404, body: {} }));
  await reattach();
  equal(state.followed.id, "8");
});

test("After a reload the charge that was shown is found again", async () => {
  page();
  follow(charge("7", "succeeded"));
  update({ followed: null });
  const asked = terminal(({ path }) => ({ body: path === "/charges/current" ? "" : charge("7", "succeeded") }));
  await reattach();
  equal([state.followed.id, asked.map(({ path }) => path)], ["7", ["/charges/current", "/charges/7"]]);
});

test("What the session said already is not asked for", async () => {
  page();
  const asked = terminal(() => ({ body: charge("9") }));
  await reattach(charge("9"));
  await reattach(null);
  equal([state.followed.id, asked.map(({ path }) => path)], ["9", ["/charges/9"]]);
});

test("A charge that is not there any more is forgotten, and silence forgets nothing", async () => {
  page();
  follow(charge("7", "unknown"));
  terminal(() => { throw new TypeError("Failed to fetch"); });
  await throws(() => reattach(null));
  equal(state.followed.id, "7");
  terminal(() => ({ status: 404, body: { code: "charge_not_found", message: "None." } }));
  await reattach(null);
  await reattach(null);
  equal([state.followed, sessionStorage.length], [null, 0]);
});

test("The running charge is the lost answer of the button: the intent ends", () => {
  page();
  begin({ amountMinor: 1250, currency: "EUR", reference: "", note: "", tipMinor: null });
  hear(charging(charge("7")));
  equal(pending(), null);
});

test("Days go by the terminal's clock, and a time that is none changes nothing", () => {
  page();
  hear({ phase: "idle", charge: null, at: "2026-11-27T12:00:00Z" });
  equal(state.clockAhead, 7_200_000);
  hear({ phase: "idle", charge: null, at: "" });
  equal(state.clockAhead, 7_200_000);
});
