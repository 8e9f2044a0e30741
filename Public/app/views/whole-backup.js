// The terminal's whole memory: taking it along in one sealed file, and taking another terminal's place.

import * as api from "../api.js";
import { ask } from "../dialog.js";
import { h, refill } from "../dom.js";
import { busyButton, notice, secretField, textField } from "../form.js";
import { momentText, shopDay } from "../shop-time.js";
import { sendInPieces } from "../pieces.js";
import { t } from "../strings.js";

const PAUSE_MILLISECONDS = 2000;

/** Asks how the sticks stand for as long as the page is shown; `hear` takes whoever wants to be told. */
export function watchSticks() {
  const listeners = [];
  const watch = {
    hear(listener) { listeners.push(listener); },
    tell(now) {
      for (const listener of listeners) listener(now);
      if (!now.available) watch.end();
    },
    end() { clearInterval(timer); },
  };
  // What cannot be asked now is asked again; the frame says when the terminal cannot be reached.
  const ask = () => { api.sticks().then(watch.tell).catch(() => {}); };
  const timer = setInterval(() => { if (!document.hidden) ask(); }, PAUSE_MILLISECONDS);
  ask();
  return watch;
}

/** Buttons by name, made anew only where other names come: who is about to press one does not lose it. */
function buttons(place, makeButton) {
  let listed = "";
  return (items) => {
    const names = JSON.stringify(items);
    if (names === listed) return;
    listed = names;
    refill(place, items.map(makeButton));
  };
}

/** `card`, `say` and `clear` are the page's own; `sticks` is a watch. */
export function takePart({ card, say, clear, sticks }) {
  const passphrase = secretField("passphrase", { label: t("whole.passphrase"), help: t("whole.passphraseHelp"), autocomplete: "new-password", withStrength: 15 });
  const password = secretField("password", { label: t("settings.password"), autocomplete: "current-password" });
  const fields = [passphrase, password];
  const take = busyButton({ label: t("whole.download"), busyLabel: t("whole.downloading"), className: "button wide" });
  const done = h("div", { role: "status" });
  const [onto, standing, stickTrouble] = [h("div", {}), h("div", { class: "stick-standing", role: "status" }), h("div", { class: "trouble", role: "alert" })];
  let hasTold = "";
  const list = buttons(onto, ({ name, several }) => {
    const write = busyButton({ label: several ? t("whole.stickWriteNamed", { name }) : t("whole.stickWrite"), busyLabel: t("whole.downloading"), className: "button wide", type: "button" });
    write.element.addEventListener("click", () => write.during(async () => {
      clear(stickTrouble, fields);
      try {
        sticks.tell(await api.writeToStick({ stick: name, passphrase: passphrase.value, password: password.value }));
        password.value = "";
      } catch (error) {
        say(stickTrouble, error, fields);
      }
    }));
    return write.element;
  });
  sticks.hear((now) => {
    if (!now.available) return;
    const isWriting = now.phase === "writing";
    onto.hidden = isWriting;
    list(now.sticks.map(({ name }) => ({ name, several: now.sticks.length > 1 })));
    // Said once: a reader of the screen is not told the same again and again.
    const text = JSON.stringify([now.phase, now.percent, now.problem, now.written, now.sticks.length]);
    if (text === hasTold) return;
    hasTold = text;
    refill(standing, isWriting ? stickProgress(now.percent) : stickOutcome(now));
  });
  return card("take", fields.map((field) => field.element), take, async (trouble) => {
    clear(trouble, fields);
    refill(done);
    try {
      keep(await api.takeBackup({ passphrase: passphrase.value, password: password.value }));
      password.value = "";
      refill(done, notice("good", t("whole.taken")));
    } catch (error) {
      say(trouble, error, fields);
    }
  }, [done, standing, onto, stickTrouble], "whole");
}

function stickProgress(percent) {
  return [
    h("p", { class: "strong" }, t("whole.stickWriting")), h("progress", { max: 100, value: percent, "aria-label": t("whole.stickWriting") }),
    h("p", {}, t("whole.stickLeave")),
  ];
}

function stickOutcome({ problem, written, sticks }) {
  if (problem) {
    const { message, action } = problem;
    return notice("bad", message, action);
  }
  if (written) return notice("good", t("whole.stickDone"), t("whole.stickFile", { file: written.file }));
  return sticks.length > 0 ? null : h("p", { class: "quiet" }, t("whole.stickHelp"));
}

/** Gives the browser a file to keep. */
function keep(blob) {
  const address = URL.createObjectURL(blob);
  const link = h("a", { href: address, download: `till-backup-${shopDay(Date.now())}.age` });
  document.body.append(link);
  link.click();
  link.remove();
  setTimeout(() => URL.revokeObjectURL(address), 60_000);
}

/** `onRestored` hears that the terminal begins anew. */
export function restorePart({ card, say, clear, onRestored, sticks }) {
  const chosen = textField("file", { label: t("whole.file"), attributes: { type: "file", accept: ".age,application/octet-stream" } });
  const passphrase = secretField("passphrase", { label: t("whole.passphrase"), help: t("whole.openHelp"), autocomplete: "off" });
  const password = secretField("password", { label: t("settings.password"), help: t("whole.passwordHelp"), autocomplete: "current-password" });
  const fields = [chosen, passphrase, password];
  const found = h("div", { class: "backup-found", role: "status" });
  const trouble = h("div", { class: "trouble", role: "alert" });
  const check = busyButton({ label: t("whole.check"), busyLabel: t("whole.checking"), className: "button wide" });
  const apply = busyButton({ label: t("whole.apply"), busyLabel: t("whole.applying"), className: "button grave wide", type: "button" });
  const step = h("div", { class: "backup-step", hidden: true }, password.element, trouble, apply.element);
  for (const field of [chosen, passphrase]) field.control.addEventListener("input", () => { step.hidden = true; refill(found); });

  apply.element.addEventListener("click", () => apply.during(async () => {
    clear(trouble, fields);
    const yes = await ask({ title: t("whole.sure"), text: t("whole.sureText"), yes: t("whole.sureYes"), no: t("whole.sureNo"), isGrave: true });
    if (!yes) return;
    try {
      await api.applyRestore({ password: password.value });
      onRestored();
    } catch (error) {
      say(trouble, error, fields);
    }
  }));

  const [onSticks, stickTrouble] = [h("div", {}), h("div", { class: "trouble", role: "alert" })];
  const list = buttons(onSticks, ({ place, name }) => {
    const take = busyButton({ label: t("whole.fromStick", { name }), busyLabel: t("whole.checking"), className: "button wide", type: "button" });
    take.element.addEventListener("click", () => take.during(() => look(stickTrouble, () => api.checkRestore({ stick: place, passphrase: passphrase.value }))));
    return take.element;
  });
  sticks.hear((now) => { if (now.available) list(now.files.map(({ place, name }) => ({ place, name }))); });

  /** Has a backup checked, and shows what was found in it. */
  async function look(upper, body) {
    clear(upper, fields);
    refill(found);
    step.hidden = true;
    try {
      refill(found, facts(await body()));
      step.hidden = false;
    } catch (error) {
      refill(found);
      say(upper, error, fields);
    }
  }

  return card("restore", [chosen.element, passphrase.element], check, async (upper) => {
    clear(upper, fields);
    refill(stickTrouble);
    step.hidden = true;
    const file = chosen.control.files[0];
    if (!file) {
      chosen.setError(t("backup.fileMissing"));
      return;
    }
    await look(upper, async () => {
      await sendInPieces(file, { begin: api.beginRestore, add: api.addToRestore }, (percent) => refill(found, h("p", {}, t("whole.sending", { percent }))));
      return await api.checkRestore({ passphrase: passphrase.value });
    });
  }, [onSticks, stickTrouble, found, step], "whole");
}

function facts({ found, entriesHere }) {
  const rows = [
    found.merchantName ? [t("whole.shop"), found.merchantName] : null,
    [t("whole.madeAt"), momentText(found.madeAt)],
    [t("whole.entries"), String(found.entries)],
    found.openPayments > 0 ? [t("whole.open"), String(found.openPayments)] : null,
    entriesHere > 0 ? [t("whole.here"), String(entriesHere)] : null,
  ].filter(Boolean);
  return [
    notice("good", t("whole.found")),
    h("dl", { class: "facts" }, rows.map(([name, value]) => h("div", {}, h("dt", {}, name), h("dd", { dir: "auto" }, value)))),
    found.lostSecrets.length > 0 ? notice("plain", t("whole.lost", { names: found.lostSecrets.join(", ") })) : null,
  ];
}
