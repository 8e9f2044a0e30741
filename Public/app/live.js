// The connection to the terminal: server-sent events, opened again by itself, with what was missed fetched after.

import * as api from "./api.js";
import { hear, reattach } from "./following.js";
import { fetchRecent, refreshRecent } from "./recent.js";
import { state, update } from "./store.js";
import { SharedStream } from "./stream.js";
import { inOwnWords } from "./strings.js";

/** The terminal pings every 5 seconds; longer silence than this means the connection is dead. */
const SILENCE_MILLISECONDS = 12_000;
/** A short break is not worth a word. */
const LOST_AFTER_MILLISECONDS = 2_000;
const WAITS_MILLISECONDS = [300, 1_000, 2_000, 4_000];

let source = null;
let tries = 0;
let reopenTimer = null;
let silenceTimer = null;
let lostTimer = null;
let sessionChanged = () => {};

/** Names the one who is told when the session was asked for and may have changed. */
export function whenSessionChanged(callback) { sessionChanged = callback; }

/** Listens to the terminal until `disconnect`. */
export function connect() {
  if (source || reopenTimer) return;
  open();
}

/** Stops listening, for example after signing out. */
export function disconnect() {
  close();
  for (const timer of [reopenTimer, lostTimer]) clearTimeout(timer);
  reopenTimer = null;
  lostTimer = null;
  tries = 0;
}

function open() {
  reopenTimer = null;
  source = new SharedStream(api.eventsAddress);
  source.addEventListener("open", heardSomething);
  source.addEventListener("ping", heardSomething);
  source.addEventListener("terminal", (event) => {
    heardSomething();
    const isBack = tries > 0;
    tries = 0;
    clearTimeout(lostTimer);
    lostTimer = null;
    const terminal = aged(JSON.parse(event.data, inOwnWords), event.ageMilliseconds ?? 0);
    hear(terminal);
    refreshRecent(terminal);
    if (isBack) catchUp();
  });
  source.addEventListener("error", broken);
  heardSomething();
}

/** What the terminal said so long ago, as it would say it now: its time, and seconds that run. */
function aged(terminal, milliseconds) {
  if (milliseconds === 0) return terminal;
  const said = Date.parse(terminal.at);
  const seconds = Math.round(milliseconds / 1000);
  const run = (value, by) => (Number.isFinite(value) ? Math.max(0, value + by) : value);
  const { charge } = terminal;
  return {
    ...terminal,
    ...(Number.isNaN(said) ? {} : { at: new Date(said + milliseconds).toISOString() }),
    ...(charge ? { charge: {
      ...charge, secondsLeft: run(charge.secondsLeft, -seconds), releaseInSeconds: run(charge.releaseInSeconds, -seconds),
      processingSeconds: run(charge.processingSeconds, seconds),
    } } : {}),
  };
}

function heardSomething() {
  clearTimeout(silenceTimer);
  // A tab that nobody looks at may hear nothing: no tab has the stream then.
  silenceTimer = setTimeout(() => (document.visibilityState === "visible" ? broken() : null), SILENCE_MILLISECONDS);
}

function close() {
  clearTimeout(silenceTimer);
  source?.close();
  source = null;
}

function broken() {
  close();
  const wait = WAITS_MILLISECONDS[Math.min(tries, WAITS_MILLISECONDS.length - 1)];
  tries += 1;
  lostTimer ??= setTimeout(() => update({ link: "lost" }), LOST_AFTER_MILLISECONDS);
  clearTimeout(reopenTimer);
  reopenTimer = setTimeout(checkSessionAndOpen, wait);
}

/** An event source cannot tell "signed out" from "gone"; the session can. */
async function checkSessionAndOpen() {
  try {
    const session = await api.session();
    if (!reopenTimer) return;
    sessionChanged(session);
    if (session.signedIn) open();
    else disconnect();
  } catch {
    if (reopenTimer) broken();
  }
}

async function catchUp() {
  try {
    await reattach();
  } catch {
    // The next break or event tries again.
  }
}

/** The network or the page came back: do not sit out the wait. */
function hurry() {
  if (!reopenTimer) return;
  clearTimeout(reopenTimer);
  tries = 1;
  reopenTimer = setTimeout(checkSessionAndOpen, 0);
}

addEventListener("online", hurry);
addEventListener("offline", () => {
  if (!state.session?.signedIn || !source && !reopenTimer) return;
  broken();
  update({ link: "lost" });
});
document.addEventListener("visibilitychange", () => {
  if (document.visibilityState !== "visible") return;
  if (source) heardSomething();
  hurry();
  fetchRecent();
});
