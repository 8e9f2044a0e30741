// What the cashier wants charged, from the press of the button to the terminal's answer.
//
// One intent has one idempotency key, made here and kept across retries and reloads, so that a lost answer never makes
// a second charge. It ends with the first answer: a later charge of the same amount is another intent with another key.

import * as api from "./api.js";

const KEY = "till.intent";
/** Silence after which the cashier decides: each try may itself have waited. */
const WAITS_MILLISECONDS = [700, 1_500, 3_000];

/** Older than this, an intent without an answer belongs to another sale. */
const LONGEST_MILLISECONDS = 600_000;

/** The intent that has no answer yet, or null. `{ key, amountMinor, currency, reference, note, tipMinor, madeAt }` */
export function pending() {
  try {
    const intent = JSON.parse(sessionStorage.getItem(KEY));
    return intent && Math.abs(Date.now() - intent.madeAt) < LONGEST_MILLISECONDS ? intent : null;
  } catch {
    return null;
  }
}

/** Ends the intent when the terminal turns out to run its charge: the lost answer is here. */
export function settleWith(charge) {
  const intent = pending();
  if (!intent || charge.amountMinor !== intent.amountMinor) return;
  if ((charge.reference ?? "") === (intent.reference ?? "")) end();
}

/** Begins an intent. `amountMinor` is a whole number of minor units; `tipMinor` is a part of it, null where nobody was asked. */
export function begin({ amountMinor, currency, reference, note, tipMinor }) {
  const intent = { key: crypto.randomUUID(), amountMinor, currency, reference, note, tipMinor, madeAt: Date.now() };
  sessionStorage.setItem(KEY, JSON.stringify(intent));
  return intent;
}

/** Ends the intent, answered or given up. */
export function end() { sessionStorage.removeItem(KEY); }

/**
 * Asks the terminal to open the charge, again after silence; returns the charge.
 * Throws `Refused` (nothing was charged, the intent is over) or `NoAnswer` (open; the intent stays).
 */
export async function send(intent, { onRetry, isOver }) {
  const { key, amountMinor, currency, reference, note, tipMinor } = intent;
  const body = {
    amountMinor, currency, ...(reference ? { reference } : {}), ...(note ? { note } : {}),
    ...(tipMinor === null || tipMinor === undefined ? {} : { tipMinor }),
  };
  for (let tried = 0; ; tried += 1) {
    try {
      const charge = await api.openCharge(body, key);
      end();
      return charge;
    } catch (error) {
      if (!(error instanceof api.NoAnswer)) {
        // A session that ended says nothing about the charge; after signing in the same key asks again.
        if (error.status !== 401) end();
        throw error;
      }
      if (tried >= WAITS_MILLISECONDS.length || isOver()) throw error;
      onRetry();
      await new Promise((resolve) => setTimeout(resolve, WAITS_MILLISECONDS[tried]));
      if (isOver()) throw error;
    }
  }
}
