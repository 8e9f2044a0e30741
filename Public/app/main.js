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
import { chargeView } from "./views/charge.js";
import { claimView, loginView, unreachableView } from "./views/entrance.js";
import { historyView } from "./views/history.js";
import { forgetAmount } from "./views/keypad.js";
import { forgetSettingsDraft, settingsView } from "./views/settings.js";

const RETRY_MILLISECONDS = 3_000;

const page = document.getElementById("page");
let shell = null;
let view = null;
let shown = null;
let hasEnded = false;
let loginNote = null;
let claimCode = takeClaimCode();

/** The code behind the screen's QR. It leaves the address bar and the browser's history at once. */
function takeClaimCode() {
  const match = /^#claim=(.+)$/.exec(location.hash);
  if (!match) return "";
  history.replaceState(null, "", `${location.pathname}${location.search}`);
  try {
    return decodeURIComponent(match[1]).slice(0, 64);
  } catch {
    return "";
  }
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
  return { name: name === "settings" ? name : "charge", id: null };
}

/** What must be shown now: the way in as long as there is no session, then the set-up, then what the address says. */
function wanted() {
  const { session } = state;
  if (!session) return "unreachable";
  if (!session.claimed) return "claim";
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
  if (["unreachable", "claim", "login"].includes(name)) renderEntrance(name);
  else renderPlace(name);
}

function renderEntrance(name) {
  shell = null;
  view =
    name === "claim" ? claimView({ code: claimCode, onDone: entered }) :
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
    name === "settings" ? settingsView({ isFirst: false, onSaved: () => settingsSaved(false), onSignOut: signOut }) :
    name === "history" ? historyView({ id: place().id }) : chargeView();
  view.shownID = place().id;
  shell.show(view.element, name);
  shell.update();
  view.update();
  if (!document.title.includes("·")) document.title = `${t(`nav.${name === "setup" ? "settings" : name}`)} · ${t("app.name")}`;
  window.scrollTo(0, 0);
  if (!isFirstView) shell.main.querySelector("h1")?.focus({ preventScroll: true });
}

/** Claimed or signed in. */
async function entered(session, note = null) {
  claimCode = "";
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

async function signOut() {
  try {
    await api.logout();
  } catch (error) {
    if (error.status !== 401) {
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
  loginNote = null;
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
  const scanned = takeClaimCode();
  if (scanned) {
    claimCode = scanned;
    view?.takeCode?.(scanned);
    return;
  }
  render();
});

begin();
