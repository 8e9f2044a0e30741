import * as api from "/app/api.js";
import { t, useLanguage } from "/app/strings.js";
import { terminal } from "./fakes.js";
import { equal, test, throws } from "./harness.js";

await useLanguage(["en"]);

const reason = { code: "amount_above_limit", message: "At most €50.00.", action: "Ask the owner." };

/** Signs in, so that there is a token. */
async function signedIn(token = "token-1") {
  terminal(() => ({ body: { signedIn: true, csrfToken: token } }));
  await api.session();
}

test("A refusal is an answer: it carries the terminal's words, fields and what to do", async () => {
  terminal(() => ({ status: 422, body: { ...reason, fields: { amountMinor: reason }, chargeID: "7" }, headers: { "Retry-After": "30" } }));
  const error = await throws(() => api.settings());
  equal([error instanceof api.Refused, error instanceof api.NoAnswer], [true, false]);
  equal([error.status, error.code, error.message, error.action, error.fields, error.chargeID, error.retryAfterSeconds],
    [422, reason.code, reason.message, reason.action, { amountMinor: reason }, "7", 30]);
});

test("A refusal without words still is one, and says with which number", async () => {
  for (const body of ["", "not JSON", "null", "[]"]) {
    terminal(() => ({ status: 404, body }));
    const error = await throws(() => api.settings());
    equal([body, error.message, error.code, error.action, error.fields, error.retryAfterSeconds], [body, t("trouble.refused", { status: 404 }), "unclear", "", {}, null]);
  }
});

test("A refusal is said in the page's language where the page has words for it", async () => {
  await useLanguage(["de"]);
  terminal(() => ({ status: 422, body: { ...reason, values: { limit: "50,00 €" } } }));
  const { message, action } = await throws(() => api.settings());
  await useLanguage(["en"]);
  equal([message.includes("50,00 €"), message === reason.message, action === reason.action], [true, false, false]);
});

test("Silence is no refusal: money may have moved", async () => {
  terminal(() => { throw new TypeError("Failed to fetch"); });
  const error = await throws(() => api.openCharge({ amountMinor: 1250 }, "key"));
  equal([error instanceof api.NoAnswer, error.message, error.action], [true, t("trouble.noAnswer"), t("trouble.noAnswerAction")]);
});

test("An answer that cannot be read is silence as well: half of one, or a 500 without words", async () => {
  for (const answer of [{ body: "{\"charges\": [" }, { body: "<html>" }, { status: 500, body: "" }, { status: 502, body: "<html>Bad gateway" }, { status: 503, body: {} }]) {
    terminal(() => answer);
    equal([answer, (await throws(() => api.settings())) instanceof api.NoAnswer], [answer, true]);
  }
});

test("A failure that the terminal itself names is its answer", async () => {
  terminal(() => ({ status: 503, body: { code: "starting", message: "Starting.", action: "" } }));
  const error = await throws(() => api.settings());
  equal([error instanceof api.Refused, error.code, error.status], [true, "starting", 503]);
});

test("An answer of nothing is an answer", async () => {
  terminal(() => ({ status: 200, body: "" }));
  equal(await api.markSeen("7"), null);
});

test("Whoever is told of the end of a session hears of a 401, and not of a wrong password", async () => {
  let ended = 0;
  api.whenSignedOut(() => { ended += 1; });
  terminal(() => ({ status: 401, body: reason }));
  await throws(() => api.login("wrong"));
  await throws(() => api.signInWithPIN("Ada", "0000"));
  await throws(() => api.claim("code", "password"));
  equal(ended, 0);
  await throws(() => api.charges({}));
  equal(ended, 1);
  api.whenSignedOut(() => {});
});

test("A change carries the session's token, a question carries none, and a way in carries none", async () => {
  await signedIn("token-1");
  const asked = terminal(() => ({ body: {} }));
  await api.cancelCharge("7");
  await api.settings();
  await api.login("password");
  equal(asked.slice(0, 3).map(({ method, headers }) => [method, headers["X-CSRF-Token"] ?? null]), [["POST", "token-1"], ["GET", null], ["POST", null]]);
});

test("Nothing is kept in a cache, nothing follows a redirect, and cookies go to this terminal only", async () => {
  const asked = terminal(() => ({ body: {} }));
  await api.charges({});
  equal(asked[0].options, { cache: "no-store", credentials: "same-origin", redirect: "error" });
});

test("After a sign-in in another tab a change is asked once more with the new token", async () => {
  await signedIn("token-1");
  const asked = terminal(({ path, headers }) =>
    path === "/session" ? { body: { signedIn: true, csrfToken: "token-2" } } : headers["X-CSRF-Token"] === "token-2" ? { body: { id: "7" } } : { status: 403, body: reason });
  equal(await api.openCharge({ amountMinor: 1250 }, "key"), { id: "7" });
  equal(asked.map(({ method, path }) => `${method} ${path}`), ["POST /charges", "GET /session", "POST /charges"]);
  equal(asked.filter(({ path }) => path === "/charges").map(({ headers }) => headers["Idempotency-Key"]), ["key", "key"]);
});

test("What lasts longer than the sign-in is asked once more after the password was, with the new token", async () => {
  await signedIn("token-1");
  const asked = terminal(({ path, headers }) =>
    path === "/proof" ? { body: { signedIn: true, csrfToken: "token-2" } } :
    headers["X-CSRF-Token"] === "token-2" ? { body: { token: "t" } } : { status: 403, body: { ...reason, code: "proof_needed" } });
  api.whenProofNeeded(async () => (await api.prove({ password: "secret" })).signedIn);
  equal(await api.makeToken({ name: "till" }), { token: "t" });
  equal(asked.map(({ method, path }) => `${method} ${path}`), ["POST /tokens", "POST /proof", "POST /tokens"]);
  api.whenProofNeeded(async () => false);
});

test("Whoever does not show who they are makes nothing, and is asked once", async () => {
  await signedIn("token-1");
  const asked = terminal(() => ({ status: 403, body: { ...reason, code: "proof_needed" } }));
  let questions = 0;
  api.whenProofNeeded(async () => { questions += 1; return questions === 2; });
  equal((await throws(() => api.makeToken({}))).code, "proof_needed");
  equal([asked.length, questions], [1, 1]);
  equal((await throws(() => api.makeToken({}))).code, "proof_needed");
  equal([asked.length, questions], [3, 2]);
  api.whenProofNeeded(async () => false);
});

test("A change that this person may not make is asked once and refused", async () => {
  await signedIn("token-1");
  const asked = terminal(({ path }) => (path === "/session" ? { body: { signedIn: true, csrfToken: "token-1" } } : { status: 403, body: reason }));
  equal((await throws(() => api.saveCounter({}))).status, 403);
  equal(asked.length, 2);
});

test("Signed out elsewhere, a change is not asked a second time without a token", async () => {
  await signedIn("token-1");
  const asked = terminal(({ path }) => (path === "/session" ? { body: { signedIn: false } } : { status: 403, body: reason }));
  equal((await throws(() => api.saveCounter({}))).status, 403);
  equal(asked.length, 2);
});

test("A charge is asked for 20 seconds long, and long work longer", async () => {
  const asked = terminal(() => ({ body: {} }));
  await api.openCharge({}, "key");
  await api.verifyAudit();
  await api.testWebhook("7");
  await api.testOutbox();
  await api.checkUpdate({});
  equal(asked.map(({ timeout }) => timeout / 1000), [20, 180, 45, 45, 600]);
});

test("Names and filters cannot lead to another address", async () => {
  const asked = terminal(() => ({ body: {} }));
  await api.charge("../settings?x=1");
  await api.charges({ q: "a&b=c #", state: "", from: null, to: undefined, min: "0", limit: 6 });
  equal(asked.map(({ path }) => path), ["/charges/..%2Fsettings%3Fx%3D1", "/charges?q=a%26b%3Dc+%23&min=0&limit=6"]);
  equal([api.exportAddress("csv"), api.exportAddress("csv", { q: "", state: "failed" })], ["/api/v1/export.csv", "/api/v1/export.csv?state=failed"]);
});

test("A file comes as a file, and its refusal as words", async () => {
  terminal(() => ({ body: new Blob(["sealed"]) }));
  equal(await (await api.takeBackup({})).text(), "sealed");
  terminal(() => ({ status: 422, body: reason }));
  equal((await throws(() => api.takeBackup({}))).message, reason.message);
});

test("A receipt comes as text, also where it looks like JSON", async () => {
  const asked = terminal(() => ({ body: "{\"a\": 1}" }));
  equal([await api.receiptText("7"), asked[0].headers.Accept], ["{\"a\": 1}", "text/plain"]);
});

test("A token that no browser gave is not made up after signing out", async () => {
  await signedIn("token-1");
  terminal(() => ({ body: { signedIn: false } }));
  await api.session();
  const asked = terminal(() => ({ body: {} }));
  await api.markSeen("7");
  equal("X-CSRF-Token" in asked[0].headers, false);
});

test("A connection that dies in the middle of an answer is silence", async () => {
  terminal(() => ({ breaksOff: true }));
  equal((await throws(() => api.settings())) instanceof api.NoAnswer, true);
});
