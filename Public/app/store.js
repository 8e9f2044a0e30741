// What the page knows, in one place. Everything here is a copy of what the terminal said last.

export const state = {
  /** The answer of `GET /api/v1/session`; null until it is there. */
  session: null,
  /** The last `terminal` event. */
  terminal: null,
  /** The connection to the terminal: "connecting", "live" or "lost". */
  link: "connecting",
  /** The charge this page shows: the one that is running, or the last one until staff put it away. */
  followed: null,
  /** When `followed` was received, on the page's own steady clock (milliseconds). */
  followedAt: 0,
  /** By how many milliseconds the terminal's clock is ahead of this browser's. */
  clockAhead: 0,
  /** The newest charges, newest first; null until they are there. */
  recent: null,
};

const listeners = new Set();

/** Takes over new facts and tells everyone who listens. */
export function update(facts) {
  Object.assign(state, facts);
  for (const listener of [...listeners]) listener(state);
}

/** Calls `listener` after each change; returns how to stop. */
export function subscribe(listener) {
  listeners.add(listener);
  return () => listeners.delete(listener);
}
