import { watchIdle } from "/app/lock.js";
import { clock, terminal } from "./fakes.js";
import { afterwards, equal, test } from "./harness.js";

/** A counter that locks itself after five minutes, with a stopped clock. */
function counter(minutes = 5) {
  const time = clock();
  const asked = terminal(() => ({ body: { signedIn: true } }));
  const all = { time, asked, locked: 0 };
  afterwards(() => watchIdle(null));
  watchIdle(minutes, () => { all.locked += 1; });
  return all;
}

const MINUTE = 60_000;
const touch = (name) => document.body.dispatchEvent(new Event(name, { bubbles: true }));

test("A counter that nobody touches locks itself after the minutes that the owner set, once", async () => {
  const till = counter();
  await till.time.advance(5 * MINUTE - 1);
  equal(till.locked, 0);
  await till.time.advance(1);
  equal(till.locked, 1);
  await till.time.advance(60 * MINUTE);
  equal(till.locked, 1);
});

test("Every kind of touch begins the time anew", async () => {
  for (const name of ["pointerdown", "keydown", "wheel", "touchmove"]) {
    const till = counter();
    await till.time.advance(4 * MINUTE);
    touch(name);
    await till.time.advance(4 * MINUTE);
    equal([name, till.locked], [name, 0]);
    await till.time.advance(MINUTE);
    equal([name, till.locked], [name, 1]);
    watchIdle(null);
  }
});

test("A touch that a dialog keeps for itself counts as well", async () => {
  const till = counter();
  const stop = (event) => event.stopPropagation();
  document.body.addEventListener("keydown", stop);
  afterwards(() => document.body.removeEventListener("keydown", stop));
  await till.time.advance(4 * MINUTE);
  touch("keydown");
  await till.time.advance(4 * MINUTE);
  equal(till.locked, 0);
});

test("The terminal, which counts too, hears of touches every twenty seconds and not more often", async () => {
  const till = counter();
  for (let second = 0; second < 60; second += 1) {
    touch("pointerdown");
    await till.time.advance(1_000);
  }
  equal([till.asked.length, till.asked[0].path], [2, "/session"]);
});

test("A terminal that does not answer keeps nobody from working", async () => {
  const till = counter();
  terminal(() => { throw new TypeError("Failed to fetch"); });
  await till.time.advance(30_000);
  touch("pointerdown");
  await till.time.advance(4 * MINUTE);
  equal(till.locked, 0);
});

test("Without a limit nothing is watched and nothing is told", async () => {
  for (const minutes of [null, 0]) {
    const till = counter(minutes);
    await till.time.advance(30_000);
    touch("pointerdown");
    await till.time.advance(600 * MINUTE);
    equal([minutes, till.locked, till.asked.length], [minutes, 0, 0]);
  }
});
