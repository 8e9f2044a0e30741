// Starts the page, decides which view is shown, and puts it there.

import * as api from "./api.js";
import { refill } from "./dom.js";
import { reattach } from "./following.js";
import { toast } from "./form.js";
import { connect, disconnect, whenSessionChanged } from "./live.js";
import { fetchRecent } from "./recent.js";
import { makeShell } from "./shell.js";
import { state, subscribe, update } from "./store.js";
import { t, useLanguage } from "./strings.js";
import { auditView } from "./views/audit.js";
import { backupView } from "./views/backup.js";
import { chargeView } from "./views/charge.js";
import { customersView } from "./views/customers.js";
import { daysView } from "./views/days.js";
import { claimView, loginView, resetView, unreachableView } from "./views/entrance.js";
import { healthView } from "./views/health.js";
import { historyView } from "./views/history.js";
import { forgetAmount } from "./views/keypad.js";
import { connectView } from "./views/connect.js";
import { logsView } from "./views/logs.js";
import { phonesView } from "./views/phones.js";
import { receiptsView } from "./views/receipts.js";
import { securityView } from "./views/security.js";
import { forgetSettingsDraft, settingsView } from "./views/settings.js";
import { tokensView } from "./views/tokens.js";
import { totalsView } from "./views/totals.js";

const RETRY_MILLISECONDS = 3_000;

const page = document.getElementById("page");
let shell = null;
let view = null;
let shown = null;
let hasEnded = false;
let loginNote = null;
let scanned = takeCode();

/**
 * What the screen's QR carries: `{ purpose, code, fingerprint }`, or null. It leaves the address bar and the browser's
 * history at once.
 */
function takeCode() {
  const found = new URLSearchParams(location.hash.slice(1));
  const purpose = ["claim", "reset"].find((name) => found.has(name));
  if (!purpose) return null;
  history.replaceState(null, "", `${location.pathname}${location.search}${purpose === "reset" ? "#/reset" : ""}`);
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
  return { name: ["settings", "phones", "connect", "customers", "tokens", "receipts", "security", "days", "totals", "reset", "health", "logs", "audit", "backup"].includes(name) ? name : "charge", id: null };
}

/** What must be shown now: the way in as long as there is no session, then the set-up, then what the address says. */
function wanted() {
  const { session } = state;
  if (!session) return "unreachable";
  if (!session.claimed) return "claim";
  if (place().name === "reset") return "reset";
  if (!session.signedIn) return "login";
  if (!session.setUp) return "setup";
  return place().name;
}

function render() {
  const name = wanted();
  if (name === shown) {
    if (name === "history" && view.shownID !== place().id) {
      view.shownID = place().id;
      view.go(view.shownID);
    }
    return;
  }
  view?.end?.();
  shown = name;
  document.title = t("app.name");
  if (["unreachable", "claim", "login", "reset"].includes(name)) renderEntrance(name);
  else renderPlace(name);
}

function renderEntrance(name) {
  shell = null;
  view =
    name === "claim" ? claimView({ ...scannedFor("claim"), onDone: entered }) :
    name === "reset" ? resetView({ ...scannedFor("reset"), onDone: passwordReset }) :
    name === "login" ? loginView({ hasEnded, note: loginNote, onDone: entered }) :
    unreachableView({ onRetry: begin });
  refill(page, view.element);
  view.ready();
}

function renderPlace(name) {
  const isFirstView = !shell;
  if (!shell) {
    shell = makeShell({ onSignOut: signOut });
    refill(page, shell.element);
  }
  view =
    name === "setup" ? settingsView({ isFirst: true, onSaved: () => settingsSaved(true) }) :
    name === "security" ? securityView({ onChanged: passwordChanged }) :
    name === "days" ? daysView() :
    name === "totals" ? totalsView() :
    name === "phones" ? phonesView() :
    name === "connect" ? connectView() :
    name === "customers" ? customersView() :
    name === "tokens" ? tokensView() :
    name === "health" ? healthView() :
    name === "logs" ? logsView() :
    name === "audit" ? auditView() :
    name === "backup" ? backupView({ onErased: erased }) :
    name === "receipts" ? receiptsView() :
    name === "settings" ? settingsView({ isFirst: false, onSaved: () => settingsSaved(false), onSignOut: signOut }) :
    name === "history" ? historyView({ id: place().id }) : chargeView();
  view.shownID = place().id;
  shell.show(view.element, { security: "settings", phones: "settings", connect: "settings", customers: "settings", tokens: "settings", receipts: "settings", health: "settings", logs: "settings", audit: "settings", backup: "settings", days: "history", totals: "history" }[name] ?? name);
  shell.update();
  view.update();
  if (!document.title.includes("·")) document.title = `${t(["days", "totals"].includes(name) ? `${name}.title` : `nav.${name === "setup" ? "settings" : name}`)} · ${t("app.name")}`;
  window.scrollTo(0, 0);
  if (!isFirstView) shell.main.querySelector("h1")?.focus({ preventScroll: true });
}

/** Claimed or signed in. */
async function entered(session, note = null) {
  scanned = null;
  hasEnded = false;
  loginNote = note;
  await arrive(session);
}

async function arrive(session) {
  update({ session });
  if (session.signedIn) {
    if (session.setUp) await reattach().catch(() => {});  // The events bring it.
    connect();
    if (session.setUp) fetchRecent();
  }
  render();
}

async function settingsSaved(isFirst) {
  update({ session: await api.session() });
  if (isFirst) {
    location.hash = "#/charge";
    fetchRecent();
  } else {
    shown = null;  // The form starts over from what the terminal holds now.
  }
  render();
  toast(t("settings.saved"));
}

/** A new password with the screen's code: whoever was signed in before is not any more, in this browser neither. */
async function passwordReset(session) {
  disconnect();
  location.hash = "#/charge";
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
  sessionStorage.clear();
  forgetAmount();
  forgetSettingsDraft();
  location.hash = "#/charge";
  update({ session: null, terminal: null, followed: null, recent: null, link: "connecting" });
  render();
  setTimeout(begin, RETRY_MILLISECONDS);
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
  sessionStorage.clear();
  forgetAmount();
  forgetSettingsDraft();
  hasEnded = false;
  loginNote = note;
  location.hash = "#/charge";
  update({ session: await api.session(), terminal: null, followed: null, recent: null, link: "connecting" });
  render();
}

/** The terminal says that the session is over. What was typed and what was shown stay for after the sign-in. */
function sessionEnded() {
  if (!state.session?.signedIn) return;
  disconnect();
  hasEnded = true;
  update({ session: { ...state.session, signedIn: false, csrfToken: null }, link: "connecting" });
  render();
}

async function begin() {
  useLanguage(navigator.languages ?? ["en"]);
  try {
    await arrive(await api.session());
  } catch {
    render();
    setTimeout(() => { if (!state.session) begin(); }, RETRY_MILLISECONDS);
  }
}

api.whenSignedOut(sessionEnded);
whenSessionChanged((session) => {
  if (!session.signedIn) {
    sessionEnded();
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
    if (found.purpose === shown) {
      view.takeCode(found.code);
      return;
    }
  }
  render();
});

begin();
