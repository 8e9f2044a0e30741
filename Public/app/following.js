// The charge this page shows, kept true: taken from the terminal's events while it runs there, asked for when the
// terminal has moved on, and found again after a reload.

import * as api from "./api.js";
import { isFinal } from "./charge-words.js";
import { settleWith } from "./intent.js";
import { state, update } from "./store.js";
import { inOwnWords } from "./strings.js";

const KEY = "till.followed";
const ASK_AGAIN_MILLISECONDS = 3_000;

let askAgain = null;
/** The terminal's last event about a charge: which one, and its number among all of them. */
let heard = { id: null, number: 0 };

/** Shows `charge` from now on. */
export function follow(charge) {
  sessionStorage.setItem(KEY, charge.id);
  settleWith(charge);
  update({ followed: charge, followedAt: performance.now() });
  schedule();
}

/**
 * Returns a function that shows the answer to a question asked now. It shows nothing where the terminal's event about that charge came
 * in between: events overtake answers, and a late answer would stand until the next event.
 */
export function asking() {
  const before = heard.number;
  return (charge) => {
    const isOvertaken = heard.number > before && heard.id === charge.id && state.followed?.id === charge.id;
    if (!isOvertaken) follow(charge);
  };
}

/** Puts the charge away; the keypad comes back. A running charge cannot be put away: the terminal shows it too. */
export function putAway() {
  if (isHeld(state.followed)) return;
  const id = state.followed?.id;
  // The terminal clears its screen by itself where this does not arrive, only later.
  if (id !== undefined && state.terminal?.charge?.id === id) api.putAwayCharge(id).catch(() => {});
  sessionStorage.removeItem(KEY);
  update({ followed: null });
  schedule();
}

/** True while the terminal is busy with this charge. */
export function isHeld(charge) {
  return charge !== null && state.terminal?.phase === "charging" && state.terminal.charge?.id === charge.id &&
    holdsTerminal(state.terminal.charge);
}

/** False once the charge has ended or was let go: its result is still on the screen, but the next one can be charged. */
function holdsTerminal(charge) { return charge.holdsTerminal !== false; }

/** Takes the terminal's event over. */
export function hear(terminal) {
  const before = state.followed;
  if (terminal.charge) heard = { id: terminal.charge.id, number: heard.number + 1 };
  // Days and "today" go by the terminal's clock: this browser's may be hours off.
  const said = Date.parse(terminal.at);
  update({ terminal, link: "live", ...(Number.isNaN(said) ? {} : { clockAhead: said - Date.now() }) });
  if (terminal.charge && (holdsTerminal(terminal.charge) || terminal.charge.id === before?.id)) {
    follow(terminal.charge);
  } else if (before && !isFinal(before)) {
    refresh();
  }
}

/**
 * After a reload or a lost connection: what is running now, else the charge that was shown before. `said` is what the terminal
 * has on its screen, where that is known already; it may have come before the page's words.
 */
export async function reattach(said) {
  let show = asking();
  const running = said === undefined ? await api.currentCharge() : JSON.parse(JSON.stringify(said), inOwnWords);
  if (running && holdsTerminal(running)) {
    show(running);
    return;
  }
  const id = state.followed?.id ?? sessionStorage.getItem(KEY);
  if (!id) return;
  show = asking();
  try {
    show(await api.charge(id));
  } catch (error) {
    if (!(error instanceof api.Refused) || error.status !== 404) throw error;
    sessionStorage.removeItem(KEY);
    update({ followed: null });
  }
}

async function refresh() {
  const id = state.followed?.id;
  if (!id) return;
  const show = asking();
  try {
    const charge = await api.charge(id);
    if (state.followed?.id === id) show(charge);
  } catch {
    schedule();
  }
}

/** A charge the terminal no longer holds has no events; it is asked about until its end is known. */
function schedule() {
  clearTimeout(askAgain);
  const charge = state.followed;
  if (!charge || isFinal(charge) || isHeld(charge) || !state.session?.signedIn) return;
  askAgain = setTimeout(refresh, ASK_AGAIN_MILLISECONDS);
}
