// Payments from phones held near: how near, tips, what is taken offline, and the acquirer behind them.

import * as api from "../api.js";
import { ask } from "../dialog.js";
import { h, refill } from "../dom.js";
import { busyButton, checkField, choiceField, notice, secretField, showFieldErrors, textField, toast } from "../form.js";
import { icon } from "../icons.js";
import { exponentOf, fieldText, minorDigits } from "../money.js";
import { qrImage } from "../qr.js";
import { momentText } from "../shop-time.js";
import { state } from "../store.js";
import { t } from "../strings.js";
import { calibration } from "./calibration.js";
import { copyText } from "./history.js";
import { phoneTimes } from "./phone-times.js";
import { settingsPage } from "./settings-page.js";

const MODES = ["tap", "near", "open", "tagged"];
const AMOUNTS = ["offlineFloor", "offlineTotal", "shortCodeAbove"];
const CHARACTERISTICS = ["writeUUID", "statusUUID", "readUUID"];
const TEXTS = ["mode", "tipMode", "tipPresets", "acquirerURL", "acquirerLogin", "terminalID", "walletProjectID", "appLink", "serviceUUID", ...CHARACTERISTICS];
const NUMBERS = ["tapThreshold", "nearThreshold", "openThreshold", "taggedThreshold", "tipMaximumPercent", "offlineHours"];

function exponent() { return state.session?.currencyExponent ?? exponentOf(state.session?.currency); }

function makeFields(saved) {
  const plain = { autocapitalize: "none", spellcheck: "false" };
  const number = (name) => textField(name, {
    label: t(`phones.${name}`), help: t(`phones.${name}Help`), value: String(saved[name] ?? ""), attributes: { inputmode: "numeric" },
  });
  const amount = (name) => textField(`${name}Minor`, {
    label: t(`phones.${name}`), help: t(`phones.${name}Help`), value: saved[`${name}Minor`] ? fieldText(String(saved[`${name}Minor`]), exponent(), state.session?.locale) : "",
    attributes: { inputmode: "decimal" },
  });
  const text = (name, attributes = plain) => textField(name, {
    label: t(`phones.${name}`), help: t(`phones.${name}Help`), value: saved[name] ?? "", attributes,
  });
  const check = (name) => checkField(name, { label: t(`phones.${name}`), help: t(`phones.${name}Help`), checked: saved[name] === true });
  return {
    enabled: check("enabled"),
    mode: choiceField("mode", {
      label: t("phones.mode"), help: t("phones.modeHelp"), value: saved.mode ?? "near", groups: [[null, MODES.map((mode) => [mode, t(`phones.modes.${mode}`)])]],
    }),
    ...Object.fromEntries(NUMBERS.map((name) => [name, number(name)])),
    ...Object.fromEntries(AMOUNTS.map((name) => [name, amount(name)])),
    acceptUnknownSignal: check("acceptUnknownSignal"),
    tipMode: choiceField("tipMode", {
      label: t("phones.tipMode"), value: saved.tipMode ?? "none", groups: [[null, ["none", "allowed", "ask"].map((mode) => [mode, t(`phones.tipModes.${mode}`)])]],
    }),
    tipPresets: text("tipPresets", { inputmode: "numeric" }),
    offlineAllowed: check("offlineAllowed"),
    acquirerURL: text("acquirerURL", { ...plain, inputmode: "url" }),
    acquirerLogin: text("acquirerLogin"),
    acquirerPassword: secretField("acquirerPassword", {
      label: t("phones.acquirerPassword"), help: t(saved.acquirerPasswordSet ? "phones.acquirerPasswordSet" : "phones.acquirerPasswordHelp"), autocomplete: "off",
    }),
    terminalID: text("terminalID"),
    walletProjectID: text("walletProjectID"),
    password: secretField("password", { label: t("settings.password"), help: t("phones.passwordHelp"), autocomplete: "current-password" }),
    appLink: text("appLink", { ...plain, inputmode: "url" }),
    serviceUUID: text("serviceUUID"),
    ...Object.fromEntries(CHARACTERISTICS.map((name) => [name, text(name)])),
  };
}

/** The code that phones read, for the counter and for a sticker. `renew` makes a new one. */
function paintTag(place, saved, renew) {
  const title = h("legend", {}, t("phones.tag"));
  if (saved.mode !== "tagged" || !saved.enabled) return refill(place, title, h("p", { class: "quiet" }, t("phones.tagUnsaved")));
  if (!saved.tagURI) return refill(place, title, h("p", { class: "quiet" }, t("phones.tagMissing")));
  const copy = navigator.clipboard
    ? h("button", {
      class: "copy", type: "button", "aria-label": t("detail.copy", { name: t("phones.tagURI") }),
      on: { click: (event) => copyText(saved.tagURI, event.currentTarget) },
    }, icon("copy"))
    : null;
  return refill(
    place, title, h("p", {}, t("phones.tagLead")),
    h(
      "div", { class: "tag" }, qrImage(saved.tagCode, t("phones.tagCode")),
      h("dl", { class: "facts" }, h("div", {}, h("dt", {}, t("phones.tagURI")), h("dd", { class: "code" }, h("span", {}, saved.tagURI), copy))),
    ),
    h("p", { class: "field-help" }, t("phones.tagSticker")),
    h("p", { class: "field-help" }, t("phones.tagRenewHelp")), renew,
  );
}

/** The button for a new code. What phones, stickers and prints know of the one before is void then, so it asks first. */
function renewButton(saved, onSaved) {
  const button = busyButton({ label: t("phones.tagRenew"), busyLabel: t("phones.tagRenewing"), className: "button", type: "button" });
  async function renew() {
    const isSure = await ask({
      title: t("phones.tagRenewTitle"), text: t("phones.tagRenewText"), yes: t("phones.tagRenewYes"), no: t("phones.tagRenewNo"), isGrave: true,
    });
    if (!isSure) return;
    try {
      await api.savePhones({ version: saved.version, renewTag: true });
      await onSaved(t("phones.tagRenewed"));
    } catch (error) {
      if (error.status !== 401) toast(`${error.message} ${error.action ?? ""}`, { isBad: true });
    }
  }
  button.element.addEventListener("click", () => button.during(renew));
  return button.element;
}

/** What the terminal says of phones now: ready or what hinders, and what waits to be booked. */
function standing(place, saved) {
  const lines = [];
  const { light, waiting } = saved;
  if (light?.state === "ready") lines.push(notice("good", t("phones.ready")));
  if (light?.state === "hindered") lines.push(notice("bad", light.message, light.action));
  if (waiting > 0) lines.push(notice("plain", t("phones.waiting", { count: waiting }), t("phones.waitingHelp")));
  for (const { message, action } of saved.notices ?? []) lines.push(notice("bad", message, action));
  refill(place, lines);
}

/** The page. */
export function phonesView() { return settingsPage("phones", { read: api.phones, build }); }

function build(place, saved, onSaved) {
  const fields = makeFields(saved);
  const times = phoneTimes(saved.times ?? {});
  const all = [...Object.values(fields), ...times.fields];
  const trouble = h("div", { class: "trouble", role: "alert" });
  const save = busyButton({ label: t("settings.save"), busyLabel: t("settings.saving") });
  const rest = h("div", { class: "settings-form" });
  const status = h("div", { class: "phones-status", role: "status" });
  const tag = h("fieldset", { class: "card" });
  const renew = renewButton(saved, onSaved);
  paintTag(tag, saved, renew);
  const measured = h("p", { class: "field-help" });
  const measuring = calibration({
    mode: () => fields.mode.value,
    onKept(now, mode) {
      Object.assign(saved, { version: now.version, calibrations: now.calibrations, [`${mode}Threshold`]: now[`${mode}Threshold`] });
      fields[`${mode}Threshold`].value = String(now[`${mode}Threshold`]);
      fields[`${mode}Threshold`].setError(null);
      sift();
      toast(t("phones.measure.kept", { limit: now[`${mode}Threshold`] }));
      fields[`${mode}Threshold`].control.focus();
    },
  });
  const measure = h("details", { class: "card" }, h("summary", {}, t("phones.measure.title"), icon("right")), measuring.element);
  const more = h(
    "details", { class: "card" }, h("summary", {}, t("phones.more"), icon("right")),
    fields.appLink.element, fields.serviceUUID.element, CHARACTERISTICS.map((name) => fields[name].element), fields.acceptUnknownSignal.element, times.element,
  );

  /** Whether money would go through other hands, for which the terminal wants the owner's password. */
  const acquirerChanges = () => saved.version > 0 && (fields.acquirerPassword.value !== ""
    || ["acquirerURL", "acquirerLogin"].some((name) => fields[name].value.trim() !== (saved[name] ?? "")));
  /** Only what belongs to the chosen way is asked for. */
  const sift = () => {
    rest.hidden = !fields.enabled.checked;
    fields.password.element.hidden = !acquirerChanges();
    for (const mode of MODES) fields[`${mode}Threshold`].element.hidden = fields.mode.value !== mode;
    const { value: mode } = fields.mode;
    const kept = saved.calibrations?.[mode];
    // Of a limit that was typed later, nobody has measured anything.
    measured.textContent = kept && kept.threshold === saved[`${mode}Threshold`] ? t("phones.measured", { by: kept.by, at: momentText(kept.at) }) : "";
    measured.hidden = measured.textContent === "";
    tag.hidden = mode !== "tagged";
    measuring.update();
    for (const name of ["tipMaximumPercent", "tipPresets"]) fields[name].element.hidden = fields.tipMode.value === "none";
    for (const name of ["offlineFloor", "offlineTotal", "offlineHours"]) fields[name].element.hidden = !fields.offlineAllowed.checked;
  };

  async function submit() {
    refill(trouble);
    const changed = times.changed();
    const body = bodyOf(fields, saved);
    if (!changed) more.open = true;
    if (!changed && body) times.fields.find((field) => field.control.hasAttribute("aria-invalid"))?.control.focus();
    if (!body || !changed) return;
    if (Object.keys(changed).length > 0) body.times = changed;
    try {
      await api.savePhones(body);
      await onSaved();
    } catch (error) {
      if (error.status === 401) return;
      if (Object.keys(error.fields ?? {}).some((name) => name.endsWith("UUID") || name === "appLink" || name.startsWith("times."))) more.open = true;
      const named = all.filter((field) => field.setError);
      const count = error instanceof api.Refused ? showFieldErrors(named, error) : 0;
      refill(
        trouble,
        count > 0 ? notice("bad", t("settings.problems", { count }), t("settings.nothingSaved")) : notice("bad", error.message, error.action),
      );
      if (count === 0) trouble.scrollIntoView({ block: "center" });
    }
  }

  const card = (title, ...parts) => h("fieldset", { class: "card" }, h("legend", {}, t(`phones.${title}`)), parts);
  rest.append(
    card("how", fields.mode.element, MODES.map((mode) => fields[`${mode}Threshold`].element), measured, fields.shortCodeAbove.element),
    tag,
    measure,
    card("tips", fields.tipMode.element, h("div", { class: "pair" }, fields.tipMaximumPercent.element, fields.tipPresets.element)),
    card("offline", fields.offlineAllowed.element, h("div", { class: "pair" }, fields.offlineFloor.element, fields.offlineTotal.element), fields.offlineHours.element),
    card("acquirer", fields.acquirerURL.element, h("div", { class: "pair" }, fields.acquirerLogin.element, fields.acquirerPassword.element), fields.terminalID.element, fields.password.element),
    card("wallet", fields.walletProjectID.element),
    more,
  );
  const form = h(
    "form", { class: "settings-form", novalidate: true, on: {
      submit: (event) => { event.preventDefault(); save.during(submit); },
      input: (event) => {
        all.find((field) => field.control === event.target)?.setError?.(null);
        if (!all.some((field) => field.control.hasAttribute("aria-invalid"))) refill(trouble);
        sift();
      },
    } },
    status,
    h("fieldset", { class: "card" }, fields.enabled.element),
    rest,
    h("div", { class: "settings-end" }, trouble, save.element),
  );
  sift();
  standing(status, saved);
  refill(place, form);
  let stood = JSON.stringify([saved.light, saved.waiting]);
  return {
    stand(now) {
      if (now.tagURI !== saved.tagURI) {
        Object.assign(saved, { tagURI: now.tagURI, tagCode: now.tagCode });
        paintTag(tag, saved, renew);
      }
      const stands = JSON.stringify([now.light, now.waiting]);
      if (stands === stood) return;
      stood = stands;
      standing(status, now);
    },
  };
}

/** What is sent: what is asked for and no more; null where a number is none, which is then said at its field. */
function bodyOf(fields, saved) {
  const isAsked = (name) => !fields[name].element.closest("[hidden]");
  const wrong = [];
  const body = { version: saved.version ?? 0 };
  for (const name of ["enabled", "acceptUnknownSignal", "offlineAllowed"]) if (isAsked(name)) body[name] = fields[name].checked;
  for (const name of TEXTS) if (isAsked(name)) body[name] = fields[name].value.trim();
  if (isAsked("acquirerPassword") && fields.acquirerPassword.value) body.acquirerPassword = fields.acquirerPassword.value;
  if (isAsked("password")) body.password = fields.password.value;
  for (const name of NUMBERS.filter(isAsked)) {
    const text = fields[name].value.trim();
    // A minus as people type it, and as phones do.
    const value = Number(text.replace("−", "-"));
    if (text !== "" && Number.isSafeInteger(value)) body[name] = value;
    else wrong.push([fields[name], t("phones.numberError")]);
  }
  for (const name of AMOUNTS.filter(isAsked)) {
    const text = fields[name].value.trim();
    const digits = text === "" ? "0" : minorDigits(text, exponent(), state.session?.locale);
    if (digits === null) wrong.push([fields[name], t("settings.chargeLimitError", { example: fieldText("50000", exponent(), state.session?.locale) })]);
    else body[`${name}Minor`] = Number(digits);
  }
  for (const [field, message] of wrong) field.setError(message);
  wrong[0]?.[0].control.focus();
  return wrong.length === 0 ? body : null;
}
