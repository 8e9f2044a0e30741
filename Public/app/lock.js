// Locks a counter that nobody touches: whoever is signed in there is signed out.

import * as api from "./api.js";

const TOUCHES = ["pointerdown", "keydown", "wheel", "touchmove"];
/** The terminal counts too: it hears of touches that ask nothing of it at least this often. */
const TELL_MILLISECONDS = 20_000;

let timer = null;
let limit = 0;
let locked = () => {};
let toldAt = 0;

function touched() {
  if (!limit) return;
  clearTimeout(timer);
  timer = setTimeout(() => locked(), limit);
  if (performance.now() - toldAt < TELL_MILLISECONDS) return;
  toldAt = performance.now();
  api.session().catch(() => {});  // What that means is found out with the next thing that is asked.
}

/** Watches from now on; `minutes` null or 0 stops it. `onIdle` is called once. */
export function watchIdle(minutes, onIdle) {
  clearTimeout(timer);
  limit = minutes ? minutes * 60_000 : 0;
  locked = onIdle;
  toldAt = performance.now();
  if (limit) timer = setTimeout(() => locked(), limit);
}

for (const touch of TOUCHES) addEventListener(touch, touched, { passive: true, capture: true });
