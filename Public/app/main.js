// Starts the page, decides which view is shown, and puts it there.

import * as api from "./api.js";
import { refill } from "./dom.js";
import { reattach } from "./following.js";
import { toast } from "./form.js";
import { lazyView, SIGNED_OUT } from "./lazy.js";
import { connect, disconnect, whenSessionChanged } from "./live.js";
import { watchIdle } from "./lock.js";
import { dress, whenLanguageChanged } from "./look.js";
import { fetchRecent } from "./recent.js";
import { makeShell } from "./shell.js";
import { state, subscribe, update } from "./store.js";
import { t } from "./strings.js";
import { chargeView } from "./views/charge.js";
import { claimView, loginView, resetView, unreachableView } from "./views/entrance.js";
import { forgetAmount } from "./views/keypad.js";
import { codeView, peopleView } from "./views/people.js";

const RETRY_MILLISECONDS = 3_000;

const page = document.getElementById("page");
let shell = null;
let view = null;
let shown = null;
let hasEnded = false;
let loginNote = null;
let scanned = takeCode();
/** The owner's password instead of the names, at a browser that was let in. */
let wantsPassword = false;
/** A new password was just set with a code: the page shows what else has access. */
let isResetDone = false;
/** Who was signed in last: somebody else starts afresh. */
let lastPerson = null;

/**
 * What the screen's QR carries: `{ purpose, code, fingerprint }`, or null. It leaves the address bar and the browser's
 * history at once.
 */
function takeCode() {
  const found = new URLSearchParams(location.hash.slice(1));
  const purpose = ["claim", "reset", "staff"].find((name) => found.has(name));
  if (!purpose) return null;
  const place = { claim: "", reset: "#/reset", staff: "#/code" }[purpose];
  history.replaceState(null, "", `${location.pathname}${location.search}${place}`);
  return { purpose, code: found.get(purpose).slice(0, 64), fingerprint: fingerprintText(found.get("cert") ?? "") };
}

/** 32 bytes in Base64 for addresses as browsers show a fingerprint, `3F:9A:…`; empty where it is none. */
function fingerprintText(coded) {
  if (!/^[\w-]{43}$/.test(coded)) return "";
  const bytes = atob(coded.replaceAll("-", "+").replaceAll("_", "/"));
  return [...bytes].map((byte) => byte.charCodeAt(0).toString(16).padStart(2, "0").toUpperCase()).join(":");
}

/** What was scanned for this purpose. */
function scannedFor(purpose) {
  return scanned?.purpose === purpose ? scanned : { code: "", fingerprint: "" };
}

/** `{ name, id }` of the page in the address. */
function place() {
  const [, name, id] = /^#\/([a-z]+)(?:\/(.+))?$/.exec(location.hash) ?? [];
  if (name === "history") {
    try {
      return { name, id: id ? decodeURIComponent(id) : null };
    } catch {
      return { name, id: null };
    }
  }
  return { name: ["settings", "phones", "connect", "customers", "tokens", "webhooks", "outbox", "certificate", "receipts", "security", "days", "totals", "shifts", "counter", "health", "logs", "audit", "backup", "updates", "network", "reset", "setup", "code", "staff", "me"].includes(name) ? name : "charge", id: null };
}

/** What must be shown now: the way in as long as there is no session, then the set-up, then what the address says. */
function wanted() {
  const { session } = state;
  if (!session) return "unreachable";
  if (!session.claimed) return "claim";
  if (place().name === "reset") return "reset";
  if (place().name === "code") return "code";
  if (!session.signedIn) return session.browser && !wantsPassword ? "people" : "login";
  if (!session.setUp) return "setup";
  // Half way through it is gone on with, unless the address says another page.
  if (session.setUpState === "open" && !/^#\/./.test(location.hash)) return "setup";
  return place().name;
}

function render() {
  const name = wanted();
  if (name === shown) {
    if (name === "history" && view.shownID !== place().id) {
      closeQuestions();
      view.shownID = place().id;
      view.go(view.shownID);
    }
    return;
  }
  closeQuestions();
  view?.end?.();
  shown = name;
  document.title = t("app.name");
  if (["unreachable", "claim", "login", "reset", "people", "code"].includes(name)) renderEntrance(name);
  else renderPlace(name);
}

/** A question belongs to the page it was asked on: above the sign-in it would be in the way, and tell what was shown before. */
function closeQuestions() {
  for (const dialog of document.querySelectorAll("dialog[open]")) dialog.close("no");
}

function renderEntrance(name) {
  shell = null;
  view =
    name === "claim" ? claimView({ ...scannedFor("claim"), onDone: entered }) :
    name === "reset" ? resetView({ ...scannedFor("reset"), onDone: passwordReset }) :
    name === "code" ? codeView({ ...scannedFor("staff"), onDone: signedInWithCode }) :
    name === "people" ? peopleView({ hasEnded, note: loginNote, onDone: entered, onOwner: () => choosePassword(true) }) :
    name === "login" ? loginView({ hasEnded, note: loginNote, onDone: entered, onPeople: state.session?.browser ? () => choosePassword(false) : null }) :
    unreachableView({ onRetry: () => begin() });
  refill(page, view.element);
  view.ready();
}

function renderPlace(name) {
  const isFirstView = !shell;
  if (!shell) {
    shell = makeShell({ onSignOut: signOut, onSwitch: signOut });
    refill(page, shell.element);
  }
  view =
    name === "setup" ? lazyView(() => import("./views/setup.js"), ({ setupView }) => setupView({ onCharging: setUpLeft }), "setup") :
    name === "security" ? lazyView(() => import("./views/security.js"), ({ securityView }) => {
      const isNew = isResetDone;
      isResetDone = false;
      return securityView({ onChanged: passwordChanged, isNew });
    }) :
    name === "days" ? lazyView(() => import("./views/days.js"), ({ daysView }) => daysView()) :
    name === "totals" ? lazyView(() => import("./views/totals.js"), ({ totalsView }) => totalsView()) :
    name === "shifts" ? lazyView(() => import("./views/shifts.js"), ({ shiftsView }) => shiftsView()) :
    name === "counter" ? lazyView(() => import("./views/counter.js"), ({ counterView }) => counterView()) :
    name === "phones" ? lazyView(() => import("./views/phones.js"), ({ phonesView }) => phonesView()) :
    name === "connect" ? lazyView(() => import("./views/connect.js"), ({ connectView }) => connectView()) :
    name === "customers" ? lazyView(() => import("./views/customers.js"), ({ customersView }) => customersView()) :
    name === "staff" ? lazyView(() => import("./views/staff.js"), ({ staffView }) => staffView({ onCounter: (session) => update({ session }) })) :
    name === "me" ? lazyView(() => import("./views/me.js"), ({ meView }) => meView({ onChanged: passwordChanged, onSignOut: signOut })) :
    name === "tokens" ? lazyView(() => import("./views/tokens.js"), ({ tokensView }) => tokensView()) :
    name === "outbox" ? lazyView(() => import("./views/outbox.js"), ({ outboxView }) => outboxView()) :
    name === "certificate" ? lazyView(() => import("./views/certificate.js"), ({ certificateView }) => certificateView()) :
    name === "webhooks" ? lazyView(() => import("./views/webhooks.js"), ({ webhooksView }) => webhooksView(), "webhooks") :
    name === "health" ? lazyView(() => import("./views/health.js"), ({ healthView }) => healthView(), "health") :
    name === "logs" ? lazyView(() => import("./views/logs.js"), ({ logsView }) => logsView(), "health") :
    name === "audit" ? lazyView(() => import("./views/audit.js"), ({ auditView }) => auditView(), "health") :
    name === "backup" ? lazyView(() => import("./views/backup.js"), ({ backupView }) => backupView({ onErased: erased }), "health") :
    name === "updates" ? lazyView(() => import("./views/updates.js"), ({ updatesView }) => updatesView(), "health") :
    name === "network" ? lazyView(() => import("./views/network.js"), ({ networkView }) => networkView(), "network") :
    name === "receipts" ? lazyView(() => import("./views/receipts.js"), ({ receiptsView }) => receiptsView()) :
    name === "settings" ? lazyView(() => import("./views/settings.js"), ({ settingsView }) => settingsView({ onSaved: settingsSaved, onSignOut: signOut }), "setup") :
    name === "history" ? lazyView(() => import("./views/history.js"), ({ historyView }) => historyView({ id: place().id })) : chargeView();
  view.shownID = place().id;
  shell.show(view.element, { staff: state.session.role === "owner" ? "settings" : "me", ...(state.session.role === "manager" ? { settings: "me" } : {}), security: "settings", phones: "settings", connect: "settings", customers: "settings", tokens: "settings", webhooks: "settings", outbox: "settings", certificate: "settings", receipts: "settings", counter: "settings", health: "settings", logs: "settings", audit: "settings", backup: "settings", updates: "settings", network: "settings", days: "history", totals: "history", shifts: "history" }[name] ?? name);
  shell.update();
  view.update();
  if (!document.title.includes("·")) document.title = `${t(["days", "totals", "shifts", "counter"].includes(name) ? `${name}.title` : `nav.${name === "setup" ? "settings" : name}`)} · ${t("app.name")}`;
  window.scrollTo(0, 0);
  if (!isFirstView) shell.main.querySelector("h1")?.focus({ preventScroll: true });
}

/** Shows the owner's password instead of the names, or the names again. */
function choosePassword(isWanted) {
  wantsPassword = isWanted;
  render();
}

/** Signed in with a code: whoever was signed in here before is not any more. */
async function signedInWithCode(session) {
  disconnect();
  leaveNothing();
  location.hash = "#/charge";
  await entered(session);
}

function personOf(session) { return session.person ?? session.role; }

/** What one person typed is nothing for the next. */
function leaveNothing() {
  sessionStorage.clear();
  forgetAmount();
  dispatchEvent(new Event(SIGNED_OUT));
  update({ terminal: null, followed: null, recent: null, link: "connecting" });
}

/** Claimed or signed in. */
async function entered(session, note = null) {
  if (session.signedIn && lastPerson !== null && lastPerson !== personOf(session)) {
    leaveNothing();
    location.hash = "#/charge";
  }
  scanned = null;
  hasEnded = false;
  wantsPassword = false;
  // Another person may not go on where the one before was.
  shell = null;
  shown = null;
  loginNote = note;
  await arrive(session);
}

async function arrive({ charge, ...session }) {
  update({ session });
  watchIdle(session.signedIn ? session.lockMinutes : null, lock);
  if (session.signedIn) {
    lastPerson = personOf(session);
    if (session.setUp) await reattach(charge).catch(() => {});  // The events bring it.
    connect();
    if (session.setUp) fetchRecent();
  }
  render();
}

/** The owner goes on from the set-up to the charges. */
function setUpLeft() {
  location.hash = "#/charge";
  fetchRecent();
  render();
}

async function settingsSaved() {
  update({ session: await api.session() });
  shown = null;  // The form starts over from what the terminal holds now.
  render();
  toast(t("settings.saved"));
}

/** A new password with the screen's code: whoever was signed in before is not any more, in this browser neither. */
async function passwordReset(session) {
  disconnect();
  isResetDone = true;
  location.hash = "#/security";
  await entered(session);
  toast(t("reset.done"));
}

/** The terminal gave this browser a new token; its events begin anew with it. */
function passwordChanged(session) {
  disconnect();
  update({ session });
  connect();
}

/** Everything is erased: the page begins anew as soon as the terminal does. */
function erased() {
  disconnect();
  leaveNothing();
  location.hash = "#/charge";
  update({ session: null, terminal: null, followed: null, recent: null, link: "connecting" });
  render();
  setTimeout(() => begin(), RETRY_MILLISECONDS);
}

async function signOut() {
  let note = null;
  try {
    await api.logout();
  } catch (error) {
    if (error.code === "signed_out_until_restart") {
      note = error.message;
    } else if (error.status !== 401) {
      // Still signed in: better said than hidden.
      toast(error.message, { isBad: true });
      return;
    }
  }
  disconnect();
  watchIdle(null);
  leaveNothing();
  hasEnded = false;
  wantsPassword = false;
  loginNote = note;
  location.hash = "#/charge";
  // Out of reach or not: this browser is signed out.
  const left = { ...state.session, signedIn: false, csrfToken: null };
  update({ session: await api.session().catch(() => left) });
  render();
}

/** Nobody has touched this counter for as long as the owner allows. */
async function lock() {
  await signOut();
  if (!state.session?.signedIn) hasEnded = true;
  shown = null;
  render();
}

/** The terminal says that the session is over. What was typed and what was shown stay for after the sign-in. */
function sessionEnded(session = state.session) {
  if (!state.session?.signedIn) return;
  disconnect();
  watchIdle(null);
  hasEnded = true;
  // Erased meanwhile: nobody comes back to it.
  if (!session.claimed) leaveNothing();
  update({ session: { ...session, signedIn: false, csrfToken: null }, link: "connecting" });
  render();
  if (session.claimed) askWhoOwns();
}

/** It may be over because everything was erased, from elsewhere: then there is nobody to sign in as. */
async function askWhoOwns() {
  let answer;
  try {
    answer = await api.session();
  } catch {
    setTimeout(askWhoOwns, RETRY_MILLISECONDS);
    return;
  }
  if (answer.claimed || state.session?.signedIn) return;
  leaveNothing();
  hasEnded = false;
  await arrive(answer);
}

async function begin(asking = api.session()) {
  try {
    await arrive(await asking);
  } catch {
    render();
    setTimeout(() => { if (!state.session) begin(); }, RETRY_MILLISECONDS);
  }
}

api.whenSignedOut(() => sessionEnded());
api.whenProofNeeded(async () => {
  const { askForProof } = await import("./views/proof.js");
  const session = await askForProof();
  if (session?.signedIn) passwordChanged(session);
  return session?.signedIn === true;
});
whenSessionChanged((session) => {
  if (!session.signedIn) {
    sessionEnded(session);
  } else {
    update({ session });
    render();
  }
});
subscribe(() => {
  if (!shell) return;
  shell.update();
  view?.update();
});
addEventListener("hashchange", () => {
  const found = takeCode();
  if (found) {
    scanned = found;
    if (({ staff: "code" }[found.purpose] ?? found.purpose) === shown) {
      view.takeCode(found.code);
      return;
    }
  }
  render();
});

whenLanguageChanged(() => {
  view?.end?.();
  [view, shell, shown] = [null, null, null];
  render();
});

// Asked for while the words are fetched; where that fails, `begin` says so.
const asking = api.session();
asking.catch(() => {});
dress().then(() => begin(asking));
