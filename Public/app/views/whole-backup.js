// The terminal's whole memory: taking it along in one sealed file, and taking another terminal's place.

import * as api from "../api.js";
import { ask } from "../dialog.js";
import { h, refill } from "../dom.js";
import { busyButton, notice, secretField, textField } from "../form.js";
import { momentText } from "../charge-words.js";
import { sendInPieces } from "../pieces.js";
import { t } from "../strings.js";

/** `card`, `say` and `clear` are the page's own. */
export function takePart({ card, say, clear }) {
  const passphrase = secretField("passphrase", { label: t("whole.passphrase"), help: t("whole.passphraseHelp"), autocomplete: "new-password", withStrength: true });
  const password = secretField("password", { label: t("settings.password"), autocomplete: "current-password" });
  const fields = [passphrase, password];
  const take = busyButton({ label: t("whole.download"), busyLabel: t("whole.downloading"), className: "button wide" });
  const done = h("div", { role: "status" });
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
  }, [done], "whole");
}

/** Gives the browser a file to keep. */
function keep(blob) {
  const address = URL.createObjectURL(blob);
  const link = h("a", { href: address, download: `till-backup-${new Date().toISOString().slice(0, 10)}.age` });
  document.body.append(link);
  link.click();
  link.remove();
  setTimeout(() => URL.revokeObjectURL(address), 60_000);
}

/** `onRestored` hears that the terminal begins anew. */
export function restorePart({ card, say, clear, onRestored }) {
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

  return card("restore", [chosen.element, passphrase.element], check, async (upper) => {
    clear(upper, fields);
    step.hidden = true;
    const file = chosen.control.files[0];
    if (!file) {
      chosen.setError(t("backup.fileMissing"));
      return;
    }
    try {
      await sendInPieces(file, { begin: api.beginRestore, add: api.addToRestore }, (percent) => refill(found, h("p", {}, t("whole.sending", { percent }))));
      const answer = await api.checkRestore({ passphrase: passphrase.value });
      refill(found, facts(answer));
      step.hidden = false;
    } catch (error) {
      refill(found);
      say(upper, error, fields);
    }
  }, [found, step], "whole");
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
