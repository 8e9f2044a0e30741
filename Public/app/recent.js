// The newest charges, always at hand: "what happened to the last one?"

import * as api from "./api.js";
import { isFinal, look, stateBadge } from "./charge-words.js";
import { h } from "./dom.js";
import { asking } from "./following.js";
import { icon } from "./icons.js";
import { timeText } from "./shop-time.js";
import { state, update } from "./store.js";
import { t } from "./strings.js";

const SHOWN = 6;
/** A charge that has not ended can do so without the terminal's event being about it. */
const ASK_AGAIN_MILLISECONDS = 5_000;

let lastSeen = "";
let isFetching = false;
let mustAgain = false;
let askAgain = null;

/** Fetches the newest charges when `terminal` may mean that one of them has changed. */
export function refreshRecent(terminal) {
  const { phase, charge } = terminal;
  const seen = `${phase} ${charge?.id} ${charge?.state}`;
  // While a charge runs, events come for every little thing about it; the list only shows its state.
  if (charge && seen === lastSeen) return;
  lastSeen = seen;
  fetchRecent();
}

/** Fetches the newest charges, and again while one of them is open. */
export async function fetchRecent() {
  clearTimeout(askAgain);
  if (!state.session?.signedIn || !state.session.setUp) return;
  if (isFetching) {
    mustAgain = true;
    return;
  }
  isFetching = true;
  try {
    update({ recent: (await api.charges({ limit: SHOWN })).charges });
  } catch {
    // Kept as they were; the next event asks again.
  }
  isFetching = false;
  if (mustAgain) {
    mustAgain = false;
    await fetchRecent();
  } else if (state.recent?.some((charge) => !isFinal(charge))) {
    clearTimeout(askAgain);
    askAgain = setTimeout(() => (document.visibilityState === "visible" ? fetchRecent() : null), ASK_AGAIN_MILLISECONDS);
  }
}

/** The page of one charge. */
export function chargeAddress(charge) { return `#/history/${encodeURIComponent(charge.id)}`; }

/** One charge as a row that opens it. */
export function chargeRow(charge, { isCurrent = false } = {}) {
  return h(
    "a",
    { class: "row", href: chargeAddress(charge), "aria-current": isCurrent ? "true" : null },
    h("span", { class: `disc tone-${look(charge).tone}` }, icon(look(charge).icon)),
    h(
      "span", { class: "row-words" },
      h("span", { class: "row-state" }, look(charge).word),
      h("span", { class: "row-more" }, timeText(charge.createdAt), charge.reference ? [" · ", h("bdi", {}, charge.reference)] : ""),
    ),
    h("span", { class: "row-amount" }, charge.amountText),
    icon("right", "row-arrow"),
  );
}

/** The newest charge, by whichever of the terminal's words is newer; undefined where there is none. */
export function lastCharge() {
  const [running, listed] = [state.terminal?.charge, state.recent?.[0]];
  return running && (!listed || running.createdAt >= listed.createdAt) ? running : listed;
}

/** Shows a charge large, whichever page or device it was started on. */
async function showLarge(event, charge) {
  if (!charge) return;
  event.preventDefault();
  const show = asking();
  try {
    show(await api.charge(charge.id));
    location.hash = "#/charge";
  } catch {
    location.hash = chargeAddress(charge);  // It says there what is wrong.
  }
}

/** What became of the last charge, in one line that opens it. */
export function lastChargeStrip(charge, recent) {
  return h(
    "a", {
      class: "last-strip", href: charge ? chargeAddress(charge) : "#/history", "data-state": charge?.state ?? "none",
      on: { click: (event) => showLarge(event, charge) },
    },
    h("span", { class: "last-strip-label" }, t("history.lastOne")),
    charge
      ? [stateBadge(charge), h("span", { class: "last-strip-amount" }, charge.amountText), h("span", { class: "last-strip-time" }, timeText(charge.createdAt))]
      : h("span", { class: "quiet" }, recent ? t("history.empty") : t("history.last")),
    icon("right", "row-arrow"),
  );
}
