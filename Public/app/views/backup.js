// Taking along what the owner set, bringing it in, and erasing everything.

import * as api from "../api.js";
import { ask } from "../dialog.js";
import { h, refill } from "../dom.js";
import { busyButton, checkField, notice, secretField, showFieldErrors, textField } from "../form.js";
import { icon } from "../icons.js";
import { shopDay } from "../shop-time.js";
import { hasWords, t } from "../strings.js";
import { restorePart, takePart, watchSticks } from "./whole-backup.js";

/** The page; `onErased` hears that the terminal begins anew. */
export function backupView({ onErased }) {
  const sticks = watchSticks();
  const element = h(
    "section", { class: "page settings backup", "aria-labelledby": "backup-title" },
    h("a", { class: "back-link", href: "#/settings" }, icon("left"), t("settings.title")),
    h("h1", { id: "backup-title", tabindex: "-1" }, t("backup.title")),
    h("p", { class: "lead" }, t("backup.lead")),
    takePart({ card, say, clear, sticks }), restorePart({ card, say, clear, onRestored: onErased, sticks }),
    exportPart(), importPart(), wipePart(onErased),
  );
  return { element, update() {}, end() { sticks.end(); } };
}

/** A form in a card. `submit` is called with what to fill trouble into. */
function card(name, fields, button, submit, extra = [], words = "backup") {
  const trouble = h("div", { class: "trouble", role: "alert" });
  return h(
    "form", { class: "settings-form", novalidate: true, on: {
      submit: (event) => { event.preventDefault(); button.during(() => submit(trouble)); },
    } },
    h("fieldset", { class: "card" }, h("legend", {}, t(`${words}.${name}`)), h("p", {}, t(`${words}.${name}Lead`)), fields, trouble, extra, button.element),
  );
}

function say(trouble, error, fields) {
  if (error.status === 401) return;
  const known = error instanceof api.Refused ? fields.filter((field) => error.fields[field.name]) : [];
  if (known.length > 0) showFieldErrors(fields, error);
  else refill(trouble, notice("bad", error.message, error.action ?? ""), Object.entries(error.fields ?? {}).map(([field, reason]) => h("p", {}, `${fieldName(field)}: ${reason.message} ${reason.action}`)));
}

function clear(trouble, fields) {
  refill(trouble);
  for (const field of fields) field.setError(null);
}

function exportPart() {
  const passphrase = secretField("passphrase", { label: t("backup.passphrase"), help: t("backup.passphraseHelp"), autocomplete: "new-password", withStrength: 15 });
  const password = secretField("password", { label: t("settings.password"), help: t("backup.exportPasswordHelp"), autocomplete: "current-password" });
  const fields = [passphrase, password];
  const take = busyButton({ label: t("backup.take"), busyLabel: t("backup.taking"), className: "button wide" });
  return card("export", fields.map((field) => field.element), take, async (trouble) => {
    clear(trouble, fields);
    try {
      const body = passphrase.value ? { passphrase: passphrase.value, password: password.value } : {};
      save(await api.exportBackup(body));
      password.value = "";
    } catch (error) {
      say(trouble, error, fields);
    }
  });
}

/** Gives the browser a file to keep. */
function save(value) {
  const address = URL.createObjectURL(new Blob([`${JSON.stringify(value, null, 2)}\n`], { type: "application/json" }));
  const link = h("a", { href: address, download: `till-settings-${shopDay(Date.now())}.json` });
  document.body.append(link);
  link.click();
  link.remove();
  setTimeout(() => URL.revokeObjectURL(address), 60_000);
}

function importPart() {
  const chosen = textField("file", { label: t("backup.file"), attributes: { type: "file", accept: "application/json,.json" } });
  const passphrase = secretField("passphrase", { label: t("backup.passphrase"), help: t("backup.openHelp"), autocomplete: "off" });
  const keys = [["settings", "gatewayKey"], ["taps", "acquirerPassword"], ["outbox", "outboxPassword"]].map(([part, name]) => {
    const field = secretField(name, { label: part === "settings" ? fieldName(name) : `${partName(part)}: ${fieldName(name)}`, help: t("backup.keyHelp"), autocomplete: "off" });
    // The others only where the file turns out to need them.
    field.element.hidden = name !== "gatewayKey";
    return { name, field };
  });
  const password = secretField("password", { label: t("settings.password"), help: t("backup.importPasswordHelp"), autocomplete: "current-password" });
  const typed = keys.map(({ field }) => field);
  const fields = [chosen, passphrase, ...typed, password];
  const found = h("div", { class: "backup-found", role: "status" });
  const look = busyButton({ label: t("backup.look"), busyLabel: t("backup.looking"), className: "button wide" });
  const trouble = h("div", { class: "trouble", role: "alert" });
  const bring = busyButton({ label: t("backup.bring"), busyLabel: t("backup.bringing"), type: "button" });
  const step = h("div", { class: "backup-step", hidden: true }, password.element, trouble, bring.element);
  for (const field of fields) if (field !== password) field.control.addEventListener("input", () => { step.hidden = true; refill(found); });

  async function body() {
    const file = chosen.control.files[0];
    if (!file) {
      chosen.setError(t("backup.fileMissing"));
      return null;
    }
    const entered = keys.filter(({ field }) => field.value).map(({ name, field }) => [name, field.value]);
    try {
      return { file: JSON.parse(await file.text()), ...(passphrase.value ? { passphrase: passphrase.value } : {}), ...Object.fromEntries(entered) };
    } catch {
      chosen.setError(t("backup.fileUnreadable"));
      return null;
    }
  }

  bring.element.addEventListener("click", () => bring.during(async () => {
    clear(trouble, fields);
    const asked = await body();
    if (!asked) return;
    try {
      const answer = await api.importBackup({ ...asked, apply: true, password: password.value });
      step.hidden = true;
      refill(found, answer.complete
        ? notice("good", t("backup.done"))
        : notice("bad", t("backup.partly", { done: parts(answer.stored), left: parts(answer.notStored) }), answer.trouble?.message ?? ""));
    } catch (error) {
      say(trouble, error, fields);
    }
  }));

  return card("import", [chosen.element, passphrase.element, ...typed.map(({ element }) => element)], look, async (upper) => {
    clear(upper, fields);
    refill(found);
    step.hidden = true;
    const asked = await body();
    if (!asked) return;
    try {
      const answer = await api.importBackup(asked);
      refill(found, preview(answer));
      const missing = new Set(answer.problems.map(({ field }) => field.split(".").at(-1)));
      for (const { name, field } of keys) if (missing.has(name)) field.element.hidden = false;
      step.hidden = answer.problems.length > 0 || answer.changes.length + answer.secrets.length === 0;
    } catch (error) {
      say(upper, error, fields);
    }
  }, [found, step]);
}

function preview({ changes, problems, secrets, sealed, unknownParts }) {
  return [
    problems.map((problem) => notice("bad", `${partName(problem.part)}, ${fieldName(problem.field)}: ${problem.message}`, problem.action)),
    unknownParts.length > 0 ? notice("plain", t("backup.unknown", { parts: parts(unknownParts) })) : null,
    changes.length + secrets.length === 0 ? notice("good", t("backup.same")) : h("h2", {}, t("backup.changes")),
    h("ul", { class: "backup-changes" }, changes.map(({ part, field, from, to }) => h(
      "li", {}, h("p", { class: "strong" }, `${partName(part)}: ${fieldName(field)}`),
      h("p", {}, h("del", {}, from || t("backup.nothing")), " → ", h("ins", {}, to || t("backup.nothing"))),
    )), secrets.map((name) => h("li", {}, h("p", { class: "strong" }, t("backup.setsKey", { name: fieldName(name) }))))),
    sealed && secrets.length === 0 ? h("p", { class: "quiet" }, t("backup.stillSealed")) : null,
  ];
}

function partName(part) { return hasWords(`backup.parts.${part}`) ? t(`backup.parts.${part}`) : part; }

function parts(names) { return names.map(partName).join(", ") || t("backup.nothing"); }

/** The words of the field's own page where it has some. */
function fieldName(field) {
  const name = field.split(".").at(-1);
  const key = ["settings", "phones", "connect", "customers", "receipts", "outbox"].map((place) => `${place}.${name}`).find(hasWords);
  return key ? t(key) : name;
}

function wipePart(onErased) {
  const word = textField("word", { label: t("backup.word"), attributes: { autocapitalize: "none", spellcheck: "false" } });
  const password = secretField("password", { label: t("settings.password"), autocomplete: "current-password" });
  const open = checkField("evenWithOpenPayments", { label: t("backup.evenOpen"), help: t("backup.evenOpenHelp"), checked: false });
  open.element.hidden = true;
  const place = h("p", { class: "quiet", role: "status" }, t("history.loading"));
  api.wipeFacts().then((facts) => {
    refill(place, t("backup.wordHelp", { word: facts.word }), facts.openPayments > 0 ? ` ${t("backup.open", { count: facts.openPayments })}` : "");
  }).catch((error) => { if (error.status !== 401) refill(place, error.message); });
  const fields = [word, password];
  const erase = busyButton({ label: t("backup.erase"), busyLabel: t("backup.erasing"), className: "button grave wide" });
  return card("wipe", [place, word.element, password.element, open.element], erase, async (trouble) => {
    clear(trouble, fields);
    const yes = await ask({ title: t("backup.eraseTitle"), text: t("backup.eraseText"), yes: t("backup.eraseYes"), no: t("backup.eraseNo"), isGrave: true });
    if (!yes) return;
    try {
      await api.wipe({ word: word.value, password: password.value, ...(open.checked ? { evenWithOpenPayments: true } : {}) });
      onErased();
    } catch (error) {
      if (error.code === "payments_open") open.element.hidden = false;
      say(trouble, error, fields);
    }
  });
}
