// A refund that somebody wants written down, from the press of the button to the terminal's answer.
//
// One intent has one idempotency key, kept across retries and reloads, so that a lost answer never writes a second refund.

import * as api from "./api.js";

const KEY = "till.refund";
const WAITS_MILLISECONDS = [700, 1_500, 3_000];

/** The refund of this charge that has no answer yet, or null. `{ key, chargeID, attempt, amountMinor, amountText, reason }` */
export function pendingRefund(chargeID) {
  try {
    const intent = JSON.parse(sessionStorage.getItem(KEY));
    return intent?.chargeID === chargeID ? intent : null;
  } catch {
    return null;
  }
}

/** Begins an intent. A refund of another charge that has no answer is given up: it stands in that charge, or it does not. */
export function beginRefund(chargeID, { attempt, amountMinor, amountText, reason }) {
  const intent = { key: crypto.randomUUID(), chargeID, attempt, amountMinor, amountText, reason };
  sessionStorage.setItem(KEY, JSON.stringify(intent));
  return intent;
}

/** Ends the intent, answered or given up. */
export function endRefund() { sessionStorage.removeItem(KEY); }

/**
 * Asks the terminal to write the refund down, again after silence; returns the charge.
 * Throws `Refused` (nothing was written, the intent is over) or `NoAnswer` (open; the intent stays).
 */
export async function sendRefund({ key, chargeID, attempt, amountMinor, reason }) {
  for (let tried = 0; ; tried += 1) {
    try {
      const charge = await api.refund(chargeID, { attempt, amountMinor, reason }, key);
      endRefund();
      return charge;
    } catch (error) {
      if (!(error instanceof api.NoAnswer)) {
        // A session that ended says nothing about the refund; after signing in the same key asks again.
        if (error.status !== 401) endRefund();
        throw error;
      }
      if (tried >= WAITS_MILLISECONDS.length) throw error;
      await new Promise((resolve) => setTimeout(resolve, WAITS_MILLISECONDS[tried]));
    }
  }
}
