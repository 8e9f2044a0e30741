import { connect, disconnect, whenSessionChanged } from "/app/live.js";
import { state, update } from "/app/store.js";
import { useLanguage } from "/app/strings.js";
import { clock, streams, terminal } from "./fakes.js";
import { afterwards, equal, replace, settled, test } from "./harness.js";

await useLanguage(["en"]);

/** A signed-in page that listens, with a stopped clock. `said` is what the terminal answers when the page asks who is signed in. */
async function page() {
  const time = clock();
  const opened = streams();
  const all = { time, opened, said: () => ({ body: { signedIn: true } }), askedAt: [], asked: [], sessions: [] };
  all.asked = terminal(({ path }) => {
    if (path === "/charges/current") return { body: "" };
    if (path !== "/session") return { body: { charges: [] } };
    all.askedAt.push(time.now);
    return all.said();
  });
  whenSessionChanged((session) => all.sessions.push(session));
  update({ session: { signedIn: true, setUp: true }, link: "connecting", terminal: null, followed: null });
  afterwards(() => {
    disconnect();
    update({ session: null, terminal: null, followed: null, link: "connecting" });
  });
  connect();
  await settled();
  all.says = (more = {}) => opened.at(-1).says("terminal", { phase: "idle", charge: null, at: "", ...more });
  return all;
}

const silence = () => { throw new TypeError("Failed to fetch"); };

test("The terminal's words arrive as it says them", async () => {
  const { opened, says } = await page();
  equal([opened.length, opened[0].address], [1, "/api/v1/events"]);
  says({ gateway: "ready" });
  equal([state.terminal.gateway, state.link], ["ready", "live"]);
});

test("The terminal's reasons arrive in the page's language", async () => {
  afterwards(() => useLanguage(["en"]));
  await useLanguage(["de"]);
  const { says } = await page();
  says({ charge: { id: "7", state: "failed", reason: { code: "failed", message: "English.", action: "" } } });
  equal(state.terminal.charge.reason.message === "English.", false);
});

test("A page that listens already opens no second stream", async () => {
  const { opened } = await page();
  connect();
  equal(opened.length, 1);
});

test("After a break the terminal is asked for at once and then less and less often, every four seconds at the least", async () => {
  const shop = await page();
  shop.said = silence;
  shop.opened[0].breaks();
  equal(shop.opened[0].isOpen, false);
  await shop.time.advance(20_000);
  equal(shop.askedAt, [300, 1_300, 3_300, 7_300, 11_300, 15_300, 19_300]);
  equal(shop.opened.length, 1);
});

test("When the terminal is back the stream is open again, and what was missed is fetched", async () => {
  const shop = await page();
  shop.says();
  shop.said = silence;
  shop.opened[0].breaks();
  await shop.time.advance(8_000);
  shop.said = () => ({ body: { signedIn: true } });
  await shop.time.advance(4_000);
  equal([shop.opened.length, shop.opened[1].isOpen, shop.sessions.length], [2, true, 1]);
  equal(shop.asked.some(({ path }) => path === "/charges/current"), false);
  shop.says();
  await shop.time.advance(0);
  equal([state.link, shop.asked.some(({ path }) => path === "/charges/current")], ["live", true]);
});

test("The next break after that is tried at once again", async () => {
  const shop = await page();
  shop.said = silence;
  shop.opened[0].breaks();
  await shop.time.advance(8_000);
  shop.said = () => ({ body: { signedIn: true } });
  await shop.time.advance(4_000);
  shop.says();
  const before = shop.time.now;
  shop.opened[1].breaks();
  await shop.time.advance(300);
  equal([shop.askedAt.at(-1) - before, shop.opened.length], [300, 3]);
});

test("A short break is not worth a word, and one of two seconds is", async () => {
  const shop = await page();
  shop.says();
  shop.opened[0].breaks();
  await shop.time.advance(300);
  shop.says();
  await shop.time.advance(10_000);
  equal(state.link, "live");
  shop.said = silence;
  shop.opened[1].breaks();
  await shop.time.advance(1_999);
  equal(state.link, "live");
  await shop.time.advance(1);
  equal(state.link, "lost");
});

test("Silence of twelve seconds is a break, and a ping is none", async () => {
  const shop = await page();
  await shop.time.advance(11_000);
  shop.opened[0].says("ping", "");
  await shop.time.advance(11_000);
  equal(shop.opened[0].isOpen, true);
  await shop.time.advance(1_000);
  equal(shop.opened[0].isOpen, false);
});

test("Who was signed out meanwhile is told so, and nothing is opened any more", async () => {
  const shop = await page();
  shop.said = () => ({ body: { signedIn: false } });
  shop.opened[0].breaks();
  await shop.time.advance(60_000);
  equal([shop.sessions, shop.opened.length, shop.askedAt.length], [[{ signedIn: false }], 1, 1]);
});

test("After signing out nothing is asked, whatever was planned", async () => {
  const shop = await page();
  shop.opened[0].breaks();
  disconnect();
  await shop.time.advance(60_000);
  equal([shop.askedAt, shop.opened.length, state.link], [[], 1, "connecting"]);
});

test("An answer that comes after signing out opens nothing", async () => {
  const shop = await page();
  let answer;
  shop.said = () => new Promise((resolve) => { answer = () => resolve({ body: { signedIn: true } }); });
  shop.opened[0].breaks();
  await shop.time.advance(300);
  disconnect();
  answer();
  await shop.time.advance(0);
  equal([shop.opened.length, shop.sessions], [1, []]);
});

test("When the network or the page comes back, no wait is sat out", async () => {
  const shop = await page();
  shop.said = silence;
  shop.opened[0].breaks();
  await shop.time.advance(8_000);
  shop.said = () => ({ body: { signedIn: true } });
  dispatchEvent(new Event("online"));
  await shop.time.advance(0);
  equal([shop.askedAt.at(-1), shop.opened.length], [8_000, 2]);
  shop.opened[1].breaks();
  document.dispatchEvent(new Event("visibilitychange"));
  await shop.time.advance(0);
  equal(shop.opened.length, 3);
});

test("A tab that nobody looks at and that hears nothing is no broken connection, until somebody looks", async () => {
  const shop = await page();
  shop.says();
  replace(document, "visibilityState", "hidden");
  document.dispatchEvent(new Event("visibilitychange"));
  await shop.time.advance(300_000);
  equal([state.link, shop.askedAt, shop.opened.map(({ isOpen }) => isOpen)], ["live", [], [false]]);
  replace(document, "visibilityState", "visible");
  document.dispatchEvent(new Event("visibilitychange"));
  await shop.time.advance(0);
  equal([shop.opened.length, shop.opened[1].isOpen], [2, true]);
});

test("What another tab heard some time ago is taken as it is now: the clock, and the seconds that run", async () => {
  const shop = await page();
  const first = shop.opened[0];
  disconnect();
  // Another tab has the connection, and passes on what came ten seconds ago.
  const channel = new BroadcastChannel("till.events");
  navigator.locks.request("till.events", {}, () => new Promise(() => {}));
  await settled();
  connect();
  await settled();
  const charge = { id: "7", state: "processing", holdsTerminal: true, secondsLeft: null, processingSeconds: 3, releaseInSeconds: 17 };
  channel.postMessage({ kind: "event", name: "terminal", data: JSON.stringify({ phase: "charging", charge, at: "2026-11-27T09:59:50Z" }), ageMilliseconds: 10_000 });
  await settled();
  equal([first.isOpen, shop.opened.length, state.clockAhead, state.followed.processingSeconds, state.followed.releaseInSeconds, state.followed.secondsLeft], [false, 1, 0, 13, 7, null]);
});

test("Without a network the page says so at once", async () => {
  const shop = await page();
  shop.says();
  shop.said = silence;
  dispatchEvent(new Event("offline"));
  equal([state.link, shop.opened[0].isOpen], ["lost", false]);
});

test("Who is not signed in hears nothing of a network that is gone", async () => {
  const shop = await page();
  disconnect();
  update({ session: { signedIn: false } });
  dispatchEvent(new Event("offline"));
  equal([state.link, shop.time.next], ["connecting", null]);
});
