// The terminal's API as this page uses it. Two kinds of failure, because they mean different things for the money:
// `Refused` is the terminal's answer (nothing happened), `NoAnswer` is silence (it may have happened).

import { inOwnWords, t, wordsAreLoaded } from "./strings.js";

const ROOT = "/api/v1";
const TIMEOUT_MILLISECONDS = 20_000;
/** A receiver may take its time. */
const SENDING_MILLISECONDS = 45_000;
/** Longer than the terminal waits for a connection and then for an answer. */
const DATABASE_MILLISECONDS = 45_000;
/** Of a million entries on a small board. */
const VERIFY_MILLISECONDS = 180_000;
/** Of a long record on a slow network. */
const FILE_MILLISECONDS = 600_000;

let csrfToken = null;
let onSignedOut = () => {};
/** Asks whoever is signed in who they are; true once they have shown it. */
let onProofNeeded = async () => false;

/** The terminal answered, and the answer is no. */
export class Refused extends Error {
  constructor(status, body, retryAfterSeconds) {
    super(body.message ?? t("trouble.refused", { status }));
    this.status = status;
    this.code = body.code ?? "unclear";
    this.action = body.action ?? "";
    this.fields = body.fields ?? {};
    this.chargeID = body.chargeID ?? null;
    this.retryAfterSeconds = retryAfterSeconds;
  }
}

/** The request may or may not have reached the terminal; no usable answer came back. */
export class NoAnswer extends Error {
  constructor() {
    super(t("trouble.noAnswer"));
    this.action = t("trouble.noAnswerAction");
  }
}

/** Names the one who is told when the session has ended. */
export function whenSignedOut(callback) { onSignedOut = callback; }

/** Names the one who asks for the password or the PIN where something lasts longer than the sign-in. */
export function whenProofNeeded(callback) { onProofNeeded = callback; }

async function request(method, path, { body, headers = {}, isEntrance = false, isText = false, isFile = false, timeout = TIMEOUT_MILLISECONDS } = {}) {
  let response;
  let text;
  try {
    response = await fetch(ROOT + path, {
      method,
      headers: {
        Accept: "application/json",
        ...(method === "GET" ? {} : { "Content-Type": "application/json" }),
        ...(method === "GET" || isEntrance || !csrfToken ? {} : { "X-CSRF-Token": csrfToken }),
        ...headers,
      },
      body: method === "GET" ? undefined : JSON.stringify(body ?? {}),
      credentials: "same-origin",
      cache: "no-store",
      redirect: "error",
      signal: AbortSignal.timeout(timeout),
    });
    if (isFile && response.ok) return await response.blob();
    text = await response.text();
  } catch {
    await wordsAreLoaded();
    throw new NoAnswer();
  }
  await wordsAreLoaded();
  const answer = isText && response.ok ? text : parse(text);
  if (response.ok && answer !== undefined) return answer;
  // A 5xx, or an answer that is none: whether the terminal acted is open.
  if (response.ok || response.status >= 500 && !answer?.code) throw new NoAnswer();
  if (response.status === 401 && !isEntrance) onSignedOut();
  const retryAfter = Number.parseInt(response.headers.get("Retry-After") ?? "", 10);
  throw new Refused(response.status, answer ?? {}, Number.isNaN(retryAfter) ? null : retryAfter);
}

/** Undefined where `text` is not JSON; null where there is none. */
function parse(text) {
  if (text === "") return null;
  try { return JSON.parse(text, inOwnWords); } catch { return undefined; }
}

/**
 * Like `request`. Asks once more where the token has changed (signed in again in another tab), and where whoever is signed in has
 * shown once more who they are.
 */
async function change(method, path, options) {
  let [hasLooked, hasProved] = [false, false];
  for (;;) {
    const tokenBefore = csrfToken;
    try {
      return await request(method, path, options);
    } catch (error) {
      if (!(error instanceof Refused) || error.status !== 403) throw error;
      if (error.code === "proof_needed") {
        if (hasProved || !await onProofNeeded()) throw error;
        hasProved = true;
        continue;
      }
      if (hasLooked) throw error;
      hasLooked = true;
      await session();
      if (csrfToken === tokenBefore || !csrfToken) throw error;
    }
  }
}

function keepToken(answer) {
  csrfToken = answer.csrfToken ?? null;
  return answer;
}

export async function session() { return keepToken(await request("GET", "/session")); }

export async function claim(code, password) {
  return keepToken(await request("POST", "/claim", { body: { code, password }, isEntrance: true }));
}

export async function login(password) {
  await request("POST", "/login", { body: { password }, isEntrance: true });
  return await session();
}

/** Signs in with a PIN, at a browser that was let in. */
export async function signInWithPIN(person, pin) {
  return keepToken(await request("POST", "/login/pin", { body: { person, pin }, isEntrance: true }));
}

/** Signs in with a one-time code, which lets this browser in for that person's PIN. */
export async function signInWithCode(code) {
  return keepToken(await request("POST", "/login/code", { body: { code }, isEntrance: true }));
}

/** Replaces the PIN of whoever is signed in; this browser gets a new token. */
export async function changePIN(currentPIN, newPIN) { return keepToken(await change("PUT", "/pin", { body: { currentPIN, newPIN } })); }

/** Who works here, the browsers that were let in, and the roles' limits. */
export async function staff() { return await request("GET", "/staff"); }

export async function addPerson(body) { return await change("POST", "/staff", { body }); }

export async function changePerson(id, body) { return await change("PUT", `/staff/${encodeURIComponent(id)}`, { body }); }

export async function removePerson(id) { return await change("DELETE", `/staff/${encodeURIComponent(id)}`); }

export async function saveStaffRules(body) { return await change("PUT", "/staff", { body }); }

/** A code that signs one browser in as that person, once: `{ code, url, address, modules, seconds, name }`. */
export async function makeSignInCode(id) { return await change("POST", `/staff/${encodeURIComponent(id)}/code`); }

/** Lets everybody who works here type a PIN at this browser; answers with the session. */
export async function makeCounter() { return keepToken(await change("POST", "/browsers")); }

export async function forgetBrowser(id) { return await change("DELETE", `/browsers/${encodeURIComponent(id)}`); }

export async function logout() { await change("POST", "/logout"); }

/** Replaces the password; this browser gets a new token. */
export async function changePassword(currentPassword, newPassword, signOutOthers) {
  return keepToken(await change("PUT", "/password", { body: { currentPassword, newPassword, signOutOthers } }));
}

/** Which letters of a name the terminal's screen cannot draw: `{ missing }`. */
export async function checkName(merchantName) { return await change("POST", "/settings/name", { body: { merchantName } }); }

/** Takes a result off the terminal's screen: staff go on with the next customer. */
export async function putAwayCharge(id) { return await change("POST", `/charges/${encodeURIComponent(id)}/put-away`); }

/** Has the acquirer give a payment back; asked again, it does so once. */
export async function takeBack(id) { return await change("POST", `/charges/${encodeURIComponent(id)}/take-back`); }

/** Writes down that staff give money back: `{ attempt, amountMinor, reason }`. Asked again under the same key it is written once. Answers with the charge. */
export async function refund(id, body, key) {
  return await change("POST", `/charges/${encodeURIComponent(id)}/refund`, { body, headers: { "Idempotency-Key": key } });
}

/** Asks the gateway once more about a refund that it has not confirmed. */
export async function refundAgain(id) { return await change("PUT", `/charges/${encodeURIComponent(id)}/refund`); }

/** Who charged here: `{ people }`, as `staff:Ada`. */
export async function people() { return await request("GET", "/people"); }

/** What is set about charging at the counter: `{ tips, version }`. */
export async function counter() { return await request("GET", "/counter"); }

export async function saveCounter(body) { return await change("PUT", "/counter", { body }); }
/** Plays at the terminal what is heard of a payment that is paid. */
export async function trySound(body) { return await change("POST", "/counter/sound", { body }); }

/** Shifts, newest first: `{ shifts }`. `query` holds `from`, `to` and `by`. */
export async function shifts(query) { return await request("GET", `/shifts?${queryText(query)}`); }

/** The open shift of whoever is signed in: `{ shift }`, null where there is none. */
export async function currentShift() { return await request("GET", "/shifts/current"); }

export async function openShift() { return await change("POST", "/shifts"); }

export async function shift(number) { return await request("GET", `/shifts/${number}`); }

export async function closeShift(number) { return await change("POST", `/shifts/${number}/close`); }

/** Where a shift's report is, as `csv` or `txt`. */
export function shiftReportAddress(number, format) { return `${ROOT}/shifts/${number}/report.${format}`; }

/** What is set about payments from phones, and how that stands. */
export async function phones() { return await request("GET", "/taps"); }

export async function savePhones(body) { return await change("PUT", "/taps", { body }); }

/** Which programs may ask the terminal something: `{ tokens }`. */
export async function tokens() { return await request("GET", "/tokens"); }

/** Makes a token: `{ token, id }`. Its text is never said again. */
export async function makeToken(body) { return await change("POST", "/tokens", { body }); }

export async function revokeToken(id) { return await change("DELETE", `/tokens/${encodeURIComponent(id)}`); }

/** The operator's database that events are copied into, and how far that is. */
export async function outbox() { return await request("GET", "/outbox"); }

export async function saveOutbox(body) { return await change("PUT", "/outbox", { body }); }

/** Whether the database takes events from here: `{ arrived, reason }`. Sends none. */
export async function testOutbox() { return await change("POST", "/outbox/test", { timeout: DATABASE_MILLISECONDS }); }

/** The certificate of the page: `{ served, next, problem }`. `next` is what the next start serves where that is another. */
export async function certificate() { return await request("GET", "/certificate"); }

export async function saveCertificate(body) { return await change("PUT", "/certificate", { body }); }

export async function removeCertificate(body) { return await change("DELETE", "/certificate", { body }); }

/** Who is told of charges, and how that stands: `{ webhooks, events, readable }`. */
export async function webhooks() { return await request("GET", "/webhooks"); }

/** Makes a webhook: `{ id, secret }`. Nobody can ask for the secret again. */
export async function makeWebhook(body) { return await change("POST", "/webhooks", { body }); }

export async function pauseWebhook(id, paused) { return await change("PUT", `/webhooks/${encodeURIComponent(id)}`, { body: { paused } }); }

export async function removeWebhook(id) { return await change("DELETE", `/webhooks/${encodeURIComponent(id)}`); }

/** Sends a message that says nothing: `{ arrived, reason }`. */
export async function testWebhook(id) { return await change("POST", `/webhooks/${encodeURIComponent(id)}/test`, { timeout: SENDING_MILLISECONDS }); }

/** What the customer answered to a question that a program has put on the screen: its place among the answers. */
export async function answerMessage(id, answer) { return await change("PUT", `/screen/${encodeURIComponent(id)}`, { body: { answer } }); }

/** Takes a program's message off the screen. */
export async function takeMessage(id) { return await change("DELETE", `/screen/${encodeURIComponent(id)}`); }

/** What is set about customers' own pages. */
export async function customers() { return await request("GET", "/customers"); }

export async function saveCustomers(body) { return await change("PUT", "/customers", { body }); }

/** What is set about receipts and their printer, and how the last job went. */
export async function receipts() { return await request("GET", "/receipts"); }

export async function saveReceipts(body) { return await change("PUT", "/receipts", { body }); }

/** Prints a slip that is no receipt: `{ outcome }`, "confirmed" or "delivered". */
export async function testPrint() { return await change("POST", "/receipts/test"); }

/** Prints a charge's receipt at the terminal's printer: `{ outcome }`. */
export async function printReceipt(id) { return await change("POST", `/charges/${encodeURIComponent(id)}/receipt/print`); }

/** Where a charge's receipt is, as "text", "html", "pdf" or "escpos". */
export function receiptAddress(id, format) { return `${ROOT}/charges/${encodeURIComponent(id)}/receipt?format=${format}`; }

/** A charge's receipt as plain text. */
export async function receiptText(id) {
  return await request("GET", `/charges/${encodeURIComponent(id)}/receipt?format=text`, { headers: { Accept: "text/plain" }, isText: true });
}

/** What is set about wallets that pair with the terminal, and how that stands. */
export async function connect() { return await request("GET", "/connect"); }

export async function saveConnect(body) { return await change("PUT", "/connect", { body }); }

/** Forgets all pairings, sessions and keys of wallets; those that are connected hear it first. */
export async function forgetConnect() { return await change("POST", "/connect/forget"); }

/** Turns the screen's code to wallets that pair (`pairing`), or back to payment links (`payment`). */
export async function turnCode(id, code) { return await change("POST", `/charges/${encodeURIComponent(id)}/code`, { body: { code } }); }

/** How a measurement of phones stands. */
export async function calibration() { return await request("GET", "/taps/calibration"); }

/** Begins to measure a phone: `place` is "inside" or "outside". */
export async function calibrate(place, mode) { return await change("POST", "/taps/calibration", { body: { place, mode } }); }

/** Puts what was measured into force; answers with the settings as they are then. */
export async function keepCalibration() { return await change("PUT", "/taps/calibration"); }

export async function stopCalibration() { return await change("DELETE", "/taps/calibration"); }

/** How far a new owner password is: `{ reset, way, waitMinutes }`. */
export async function resetState() { return await request("GET", "/reset"); }

/** Ends what somebody at the terminal began. */
export async function refuseReset() { return await change("DELETE", "/reset"); }

export async function finishReset(code, password) {
  return keepToken(await request("PUT", "/reset", { body: { code, password }, isEntrance: true }));
}

/** Shows once more who is signed in, by `{ password }` or `{ pin }`; this browser gets a new token. */
export async function prove(body) { return keepToken(await change("POST", "/proof", { body })); }

/** What lasts longer than a sign-in: `{ tokens, webhooks, browsers, people }`. */
export async function access() { return await request("GET", "/access"); }

/** Ends what lasts, by its kinds. */
export async function endAccess(body) { return await change("POST", "/access/end", { body }); }

/** Who is signed in: `{ sessions }`. */
export async function sessions() { return await request("GET", "/sessions"); }

export async function endSession(id) { return await change("DELETE", `/sessions/${encodeURIComponent(id)}`); }

export async function endOtherSessions() { return await change("DELETE", "/sessions"); }

export async function settings() { return await request("GET", "/settings"); }

export async function saveSettings(body) { return await change("PUT", "/settings", { body }); }

/** How far the set-up has come: `{ begun, state, step, furthest, steps, answers, testCharge, version }`. */
export async function setUp() { return await request("GET", "/setup"); }

export async function saveSetUp(body) { return await change("PUT", "/setup", { body }); }

/** The merchant's logo: `{ image, version }`, a `data:` address or null. */
export async function logo() { return await request("GET", "/logo"); }

export async function saveLogo(body) { return await change("PUT", "/logo", { body }); }

export async function testConnection(body) { return await change("POST", "/settings/test-connection", { body }); }

export async function currentCharge() { return await request("GET", "/charges/current"); }

export async function charge(id) { return await request("GET", `/charges/${encodeURIComponent(id)}`); }

export async function openCharge(body, idempotencyKey) {
  return await change("POST", "/charges", { body, headers: { "Idempotency-Key": idempotencyKey } });
}

export async function cancelCharge(id) { return await change("POST", `/charges/${encodeURIComponent(id)}/cancel`); }

export async function releaseCharge(id) { return await change("POST", `/charges/${encodeURIComponent(id)}/release`); }

/** Takes away what is said of a late or second payment. */
export async function markSeen(id) { return await change("POST", `/charges/${encodeURIComponent(id)}/seen`); }

/** `values` as a query, without those that say nothing. */
function queryText(values) {
  return new URLSearchParams(Object.entries(values).filter(([, value]) => value !== null && value !== undefined && value !== "")).toString();
}

/** One page of charges, newest first: `{ charges, next }`. `query` holds `limit`, `before` and the filters. */
export async function charges(query) { return await request("GET", `/charges?${queryText(query)}`); }

/** Where every charge that fits comes as a file; `format` is `csv` or `json`. */
export function exportAddress(format, query = {}) {
  const text = queryText(query);
  return `${ROOT}/export.${format}${text ? `?${text}` : ""}`;
}

/** The sums of each day or month: `{ by, timeZone, periods }`. */
export async function totals(query) { return await request("GET", `/totals?${queryText(query)}`); }

/** The last days, each with what its comparison with the gateway came to: `{ today, timeZone, days }`. */
export async function days() { return await request("GET", "/days"); }

/** One day: `{ day, comparing, report }`. */
export async function day(name) { return await request("GET", `/days/${encodeURIComponent(name)}`); }

/** Has the terminal compare a day; the report comes later. */
export async function compareDay(name) { return await change("POST", `/days/${encodeURIComponent(name)}/compare`); }

/** How the terminal is: `{ weight, checks, … }`. */
export async function health() { return await request("GET", "/health"); }

/** The program's last log lines, newest first: `{ lines, timeZone }`. */
export async function logs(query) { return await request("GET", `/logs?${queryText(query)}`); }

/** Where the file for support comes from. */
export const bundleAddress = `${ROOT}/support-bundle`;

/** Entries of the audit log, newest first: `{ entries, next, timeZone }`. */
export async function audit(query) { return await request("GET", `/audit?${queryText(query)}`); }

/** Has the terminal compute every hash of the audit log anew: `{ intact, entries, head, brokenAt, reason }`. */
export async function verifyAudit() { return await change("POST", "/audit/verify", { timeout: VERIFY_MILLISECONDS }); }

/** Where the whole audit log comes as a file; `format` is `csv` or `json`. */
export function auditAddress(format) { return `${ROOT}/audit.${format}`; }

/** What the owner set, as a file's content; with a passphrase its keys are sealed in it. */
export async function exportBackup(body) { return await change("POST", "/backup/export", { body }); }

/** What such a file would change here: `{ changes, problems, … }`; with `apply`, changes it. */
export async function importBackup(body) { return await change("POST", "/backup/import", { body }); }

/** The terminal's whole memory as a sealed file, a Blob. */
export async function takeBackup(body) { return await change("POST", "/backup/everything", { body, isFile: true, timeout: FILE_MILLISECONDS }); }

/** Which sticks are there, what lies on them, and how writing onto one stands: `{ available, sticks, files, phase, … }`. */
export async function sticks() { return await request("GET", "/backup/stick"); }

/** Has the terminal's whole memory written onto a stick; the answer does not wait for its end. */
export async function writeToStick(body) { return await change("POST", "/backup/stick", { body, timeout: FILE_MILLISECONDS }); }

/** Begins to send a backup: `{ pieceBytes, receivedBytes }`. */
export async function beginRestore(body) { return await change("POST", "/restore", { body }); }

/** Sends a piece of it as base64. */
export async function addToRestore(body) { return await change("PUT", "/restore", { body }); }

/** Has it opened and checked whole: `{ found, entriesHere, … }`. */
export async function checkRestore(body) { return await change("POST", "/restore/check", { body, timeout: FILE_MILLISECONDS }); }

/** Has it become the terminal's memory; the terminal starts again. */
export async function applyRestore(body) { return await change("POST", "/restore/apply", { body }); }

/** Which version runs, what is offered, and how an update stands. */
export async function updates() { return await request("GET", "/update"); }

/** The terminal's Wi-Fi: which network it is in, which are around, and what became of the last joining. */
export async function network() { return await request("GET", "/network"); }

/** Has the terminal listen for networks. */
export async function scanNetworks() { return await change("POST", "/network/scan", {}); }

/** Begins to join a network: `{ network, passphrase }`, or `{ name, passphrase }` for one that does not say its name. */
export async function joinNetwork(body) { return await change("PUT", "/network/connection", { body }); }

/** Leaves the network that the terminal is in. */
export async function leaveNetwork() { return await change("DELETE", "/network/connection", {}); }

/** Has the terminal forget a network and its passphrase. */
export async function forgetNetwork(id) { return await change("DELETE", `/network/known/${encodeURIComponent(id)}`, {}); }

/** Begins to send a bundle: `{ pieceBytes, receivedBytes }`. */
export async function beginUpdate(body) { return await change("POST", "/update", { body }); }

/** Sends a piece of it as base64. */
export async function addToUpdate(body) { return await change("PUT", "/update", { body }); }

/** Has what was sent, or what is on a stick, looked at. */
export async function checkUpdate(body) { return await change("POST", "/update/check", { body, timeout: FILE_MILLISECONDS }); }

/** Installs what was looked at; the terminal starts anew with it. */
export async function installUpdate(body) { return await change("POST", "/update/install", { body }); }

/** What has to be typed before everything is erased, and how many payments are open: `{ word, openPayments }`. */
export async function wipeFacts() { return await request("GET", "/wipe"); }

/** Erases everything; the terminal begins anew, without an owner. */
export async function wipe(body) { return await change("POST", "/wipe", { body }); }

/** Where the terminal's events come from. */
export const eventsAddress = `${ROOT}/events`;
