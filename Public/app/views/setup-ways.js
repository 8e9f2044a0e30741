// The set-up's steps about how customers can pay: the acquirer, the ways that are switched on, and tips.

import * as api from "../api.js";
import { h, refill } from "../dom.js";
import { busyButton, checkField, choiceField, notice, secretField, textField } from "../form.js";
import { icon } from "../icons.js";
import { t } from "../strings.js";

const PLAIN = { autocapitalize: "none", spellcheck: "false" };
const ASK_AGAIN_MILLISECONDS = 500;
const PATIENCE_MILLISECONDS = 10_000;

/** How phones stand, in words; null while the acquirer is still being asked. */
function standing(taps) {
  if (taps.light.state === "ready") return notice("good", t("setup.acquirer.ready"));
  if (taps.light.state === "hindered") return notice("bad", t("setup.acquirer.hindered"), `${taps.light.message} ${taps.light.action}`);
  return null;
}

/** Asks until phones can pay, or it is known why not; gives up after a while. `isOver` ends it. */
async function settled(isOver) {
  const until = performance.now() + PATIENCE_MILLISECONDS;
  for (;;) {
    const taps = await api.phones();
    if (taps.light.state === "ready" || performance.now() > until || isOver()) return taps;
    await new Promise((resolve) => setTimeout(resolve, ASK_AGAIN_MILLISECONDS));
  }
}

export function acquirerStep({ known, typed }) {
  const { taps } = known;
  const start = (name) => typed[name] ?? taps[name] ?? "";
  const url = textField("acquirerURL", { label: t("phones.acquirerURL"), help: t("phones.acquirerURLHelp"), value: start("acquirerURL"), attributes: { ...PLAIN, inputmode: "url", maxlength: 500 } });
  const login = textField("acquirerLogin", { label: t("phones.acquirerLogin"), help: t("phones.acquirerLoginHelp"), value: start("acquirerLogin"), attributes: { ...PLAIN, maxlength: 300 } });
  const secret = secretField("acquirerPassword", { label: t("phones.acquirerPassword"), help: t(taps.acquirerPasswordSet ? "phones.acquirerPasswordSet" : "phones.acquirerPasswordHelp"), autocomplete: "off", attributes: { maxlength: 500 } });
  const terminal = textField("terminalID", { label: t("phones.terminalID"), help: t("phones.terminalIDHelp"), value: start("terminalID"), attributes: { ...PLAIN, maxlength: 100 } });
  const password = secretField("password", { label: t("settings.password"), help: t("phones.passwordHelp"), autocomplete: "current-password" });
  const tested = h("div", { class: "tested", role: "status" });
  const test = busyButton({ label: t("setup.acquirer.test"), busyLabel: t("setup.acquirer.testing"), className: "button wide", type: "button" });
  const fields = [url, login, secret, terminal, password];
  let isOver = false;

  const isEmpty = () => fields.every((field) => field.value.trim() === "");
  const isElsewhere = () => secret.value !== "" || url.value.trim() !== known.taps.acquirerURL || login.value.trim() !== known.taps.acquirerLogin;
  const isChanged = () => isElsewhere() || terminal.value.trim() !== known.taps.terminalID || !known.taps.enabled;
  const sift = () => { password.element.hidden = known.taps.version === 0 || !isElsewhere(); };

  async function save() {
    known.taps = await api.savePhones({
      enabled: true, acquirerURL: url.value.trim(), acquirerLogin: login.value.trim(), terminalID: terminal.value.trim(), version: known.taps.version,
      ...(secret.value ? { acquirerPassword: secret.value } : {}), ...(password.value ? { password: password.value } : {}),
    });
    secret.value = "";
    password.value = "";
    sift();
  }

  test.element.addEventListener("click", () => test.during(async () => {
    refill(tested);
    for (const field of fields) field.setError(null);
    try {
      if (isChanged()) await save();
      known.taps = await settled(() => isOver);
      refill(tested, standing(known.taps) ?? notice("plain", t("setup.acquirer.waiting")));
    } catch (error) {
      let first = null;
      for (const field of fields) {
        const fault = error.fields?.[field.name]?.message ?? null;
        field.setError(fault);
        if (fault) first ??= field;
      }
      first?.control.focus();
      refill(tested, notice("bad", error.message, error.action));
    }
  }));
  if (known.taps.enabled) refill(tested, standing(known.taps));
  sift();
  return {
    fields,
    element: h("div", { class: "stack" }, url.element, h("div", { class: "pair" }, login.element, terminal.element), secret.element, password.element, test.element, tested),
    typing() {
      sift();
      if (!test.isBusy) refill(tested);
    },
    async submit() {
      if (!isEmpty() && isChanged()) await save();
      return {};
    },
    end() { isOver = true; },
  };
}

export function waysStep({ known, typed }) {
  const { taps, wallets } = known;
  const canTap = taps !== null && taps.acquirerURL !== "";
  const scan = h("div", { class: "setup-way" }, icon("check"), h("div", {}, h("p", { class: "strong" }, t("setup.ways.scan")), h("p", { class: "field-help" }, t("setup.ways.scanHelp"))));
  const tap = checkField("tap", { label: t("setup.ways.tap"), help: t(canTap ? "setup.ways.tapHelp" : "setup.ways.tapMissing"), checked: canTap && (typed.tap ?? taps.enabled) });
  tap.control.disabled = !canTap;
  const connect = checkField("connect", { label: t("setup.ways.connect"), help: t("setup.ways.connectHelp"), checked: typed.connect ?? wallets?.enabled ?? false });
  const project = textField("projectID", { label: t("setup.ways.projectID"), help: t("setup.ways.projectIDHelp"), value: typed.projectID ?? wallets?.projectID ?? "", attributes: { ...PLAIN, maxlength: 100 } });
  const sift = () => { project.element.hidden = !connect.checked; };
  sift();
  return {
    fields: [tap, connect, project],
    element: h("div", { class: "stack" }, scan, taps ? tap.element : null, wallets ? connect.element : null, wallets ? project.element : null),
    typing: sift,
    async submit() {
      if (canTap && tap.checked !== known.taps.enabled) known.taps = await api.savePhones({ enabled: tap.checked, version: known.taps.version });
      if (wallets && (connect.checked !== known.wallets.enabled || connect.checked && project.value.trim() !== known.wallets.projectID)) {
        known.wallets = await api.saveConnect({ enabled: connect.checked, ...(connect.checked ? { projectID: project.value.trim() } : {}), version: known.wallets.version });
      }
      return {};
    },
  };
}

export function tipsStep({ known, typed }) {
  const modes = ["none", "allowed", "ask"].map((mode) => [mode, t(`setup.tips.modes.${mode}`)]);
  const mode = choiceField("tipMode", { label: t("setup.tips.mode"), value: typed.tipMode ?? known.taps.tipMode, groups: [[null, modes]] });
  const presets = textField("tipPresets", { label: t("setup.tips.presets"), help: t("setup.tips.presetsHelp"), value: typed.tipPresets ?? known.taps.tipPresets, attributes: { inputmode: "text", maxlength: 100 } });
  const sift = () => { presets.element.hidden = mode.value === "none"; };
  sift();
  return {
    fields: [mode, presets],
    element: h("div", { class: "stack" }, mode.element, presets.element),
    typing: sift,
    async submit() {
      known.taps = await api.savePhones({ tipMode: mode.value, ...(mode.value === "none" ? {} : { tipPresets: presets.value }), version: known.taps.version });
      return {};
    },
  };
}
