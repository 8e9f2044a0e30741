// What each step of the set-up asks, and what it does with the answers.
//
// A step has `fields`, `element` and `submit`, which returns what the terminal keeps of the answers until there are settings;
// false stays. Once there are settings, an earlier step that is gone back to changes them at once.

import * as api from "../api.js";
import { countryNames, currencyOf, guessCountry, localeOf, zoneOf } from "../countries.js";
import { h, refill } from "../dom.js";
import { busyButton, choiceField, notice, problemText, secretField, textField } from "../form.js";
import { icon } from "../icons.js";
import { speak } from "../look.js";
import { amountText, CURRENCIES, LOCALES } from "../money.js";
import { watchName } from "../name-check.js";
import { LANGUAGES, pageLanguage, t } from "../strings.js";
import { logoField } from "./logo.js";
import { acquirerStep, tipsStep, waysStep } from "./setup-ways.js";
import { testStep } from "./setup-test.js";

const PLAIN = { autocapitalize: "none", spellcheck: "false" };
const USUAL_GATEWAY = "https://api.pay.walletconnect.com";
const LONGEST_ID = 64;
const LONGEST_NAME = 60;

/** What is known of a field: typed here, set, or answered earlier. */
function start(known, typed, name, fallback = "") {
  return typed[name] ?? known.settings?.[name] ?? known.setUp.answers[name] ?? fallback;
}

/** Puts changed answers into the settings, where there are any. The rest of them stays. */
async function change(known, changes, password = "") {
  const { settings } = known;
  if (!settings || Object.entries(changes).every(([name, value]) => (settings[name] ?? "") === value)) return;
  const body = { version: settings.version };
  for (const name of ["operatorID", "merchantID", "merchantName", "gatewayURL", "currency", "locale", "timeZone", "chargeLimitMinor", "hourlyLimitMinor"]) {
    body[name] = changes[name] ?? settings[name];
  }
  if (changes.gatewayKey) body.gatewayKey = changes.gatewayKey;
  if (password) body.password = password;
  known.settings = await api.saveSettings(body);
}

/** The password is asked for where payments would go elsewhere; it comes up when they would. */
function passwordField(known, isElsewhere) {
  const field = secretField("password", { label: t("settings.password"), help: t("setup.passwordHelp"), autocomplete: "current-password" });
  const sift = () => { field.element.hidden = !(known.settings && isElsewhere()); };
  return { field, sift };
}

/** Shows the first of `faults` (`[field, words or null]`) at its field; true where there is none. */
function allFine(faults) {
  for (const [field, fault] of faults) field.setError(fault);
  const wrong = faults.find(([, fault]) => fault);
  wrong?.[0].control.focus();
  return !wrong;
}

function languageStep() {
  const field = choiceField("language", { label: t("setup.language.label"), value: pageLanguage(), groups: [[null, Object.entries(LANGUAGES)]] });
  return {
    fields: [field],
    element: h("div", { class: "stack" }, field.element),
    left() { if (field.value !== pageLanguage()) return speak(field.value); },
  };
}

function countryStep({ known, typed }) {
  const guess = known.setUp.answers.currency || known.settings ? "" : guessCountry();
  const names = new Intl.DisplayNames(pageLanguage(), { type: "currency", fallback: "code" });
  const tongues = new Intl.DisplayNames(pageLanguage(), { type: "language", languageDisplay: "standard" });
  const own = Intl.DateTimeFormat().resolvedOptions().timeZone ?? "";
  const begun = typed.country ?? known.setUp.answers.country ?? guess;
  const country = choiceField("country", { label: t("setup.country.country"), value: begun, groups: [[null, [["", t("setup.country.choose")], ...countryNames(pageLanguage())]]] });
  const currency = choiceField("currency", {
    label: t("setup.country.currency"), help: t("setup.country.fixed"), value: start(known, typed, "currency", currencyOf(begun)),
    groups: [[null, [["", t("setup.country.chooseCurrency")], ...CURRENCIES.map((code) => [code, `${code} · ${names.of(code)}`])]]],
  });
  const example = (locale) => amountText("123450", { currency: currency.value || "EUR", exponent: 2, locale });
  const locale = choiceField("locale", {
    label: t("setup.country.locale"), value: start(known, typed, "locale", localeOf(begun)),
    groups: [[null, LOCALES.map((tag) => [tag, `${example(tag)} · ${tongues.of(tag)}`])]],
  });
  const zones = [...new Set(["UTC", own, start(known, typed, "timeZone"), ...(Intl.supportedValuesOf?.("timeZone") ?? [])])].filter(Boolean).sort();
  const timeZone = choiceField("timeZone", {
    label: t("setup.country.timeZone"), help: t("settings.timeZoneHelp"), value: start(known, typed, "timeZone", zoneOf(begun)),
    groups: [[null, [["", t("settings.timeZoneMachine")], ...zones.map((zone) => [zone, zone.replaceAll("_", " ")])]]],
  });
  const write = () => { for (const option of locale.control.options) option.textContent = `${example(option.value)} · ${tongues.of(option.value)}`; };
  return {
    fields: [country, currency, locale, timeZone],
    element: h("div", { class: "stack" }, country.element, h("div", { class: "pair" }, currency.element, locale.element), timeZone.element),
    typing(event) {
      if (event.target === country.control && country.value) {
        currency.value = currencyOf(country.value);
        currency.setError(null);
        locale.value = localeOf(country.value);
        const zone = zoneOf(country.value);
        if (zones.includes(zone)) timeZone.value = zone;
      }
      write();
    },
    async submit() {
      if (!allFine([[currency, currency.value ? null : t("setup.required")]])) return false;
      const answers = { currency: currency.value, locale: locale.value, timeZone: timeZone.value };
      await change(known, answers);
      return { ...answers, ...(country.value ? { country: country.value } : {}) };
    },
  };
}

/** What is wrong with an ID, in words; null where its form is right. */
function idFault(text) {
  if (text === "") return t("setup.ids.missing");
  if (/^wcp_/i.test(text)) return t("setup.ids.isKey");
  if (/^[^@\s]+@[^@\s]+\.[a-z]+$/i.test(text)) return t("setup.ids.isMail");
  if (/\s/.test(text)) return t("setup.ids.space");
  const stranger = [...text].find((character) => !/[A-Za-z0-9._:/-]/.test(character));
  if (stranger) return t("setup.ids.character", { character: stranger });
  const count = [...text].length;
  return count > LONGEST_ID ? t("setup.ids.tooLong", { count }) : null;
}

function idsStep({ known, typed }) {
  const fields = ["operatorID", "merchantID"].map((name) => textField(name, {
    label: t(`setup.ids.${name}`), help: t(`setup.ids.${name}Help`), value: start(known, typed, name), attributes: { ...PLAIN, maxlength: 200 },
  }));
  const [operator, merchant] = fields;
  const fine = fields.map((field) => {
    const line = h("p", { class: "field-fine", role: "status" });
    field.element.append(line);
    return line;
  });
  const { field: password, sift } = passwordField(known, () => merchant.value.trim() !== known.settings.merchantID);
  /** While it is typed: what is certainly wrong at once, and that the form is right once it is. */
  function look(index) {
    const text = fields[index].value.trim();
    const fault = idFault(text);
    if (text !== "") fields[index].setError(fault);
    const isSame = index === 1 && text !== "" && text === operator.value.trim();
    refill(fine[index], text === "" || fault ? null : [icon(isSame ? "question" : "check"), h("span", {}, isSame ? t("setup.ids.isSame") : t("setup.ids.fine", { count: text.length }))]);
  }
  fields.forEach((field, index) => look(index));
  sift();
  return {
    fields: [operator, merchant, password],
    element: h("div", { class: "stack" }, operator.element, merchant.element, password.element),
    typing(event) {
      const index = fields.findIndex((field) => field.control === event.target);
      if (index >= 0) look(index);
      sift();
    },
    async submit() {
      if (!allFine(fields.map((field) => [field, idFault(field.value.trim())]))) return false;
      const answers = { operatorID: operator.value.trim(), merchantID: merchant.value.trim() };
      await change(known, answers, password.value);
      return answers;
    },
  };
}

function shopStep({ known, typed }) {
  const name = textField("merchantName", { label: t("setup.shop.name"), value: start(known, typed, "merchantName"), attributes: { autocomplete: "organization", maxlength: 200 } });
  watchName(name);
  const shown = h("p", { class: "setup-screen-name", dir: "auto" });
  const picture = h("img", { class: "setup-screen-logo", alt: "", hidden: true });
  const logo = logoField({ changed(image) {
    picture.hidden = !image;
    if (image) picture.src = image;
  } });
  const preview = h(
    "figure", { class: "setup-screen" }, h("figcaption", { class: "quiet small" }, t("setup.shop.preview")),
    h("div", { class: "setup-screen-face" }, picture, shown, h("p", { class: "setup-screen-welcome" }, t("setup.shop.previewWelcome"))),
  );
  const look = () => { shown.textContent = [...name.value.trim()].slice(0, LONGEST_NAME).join("") || t("setup.shop.previewEmpty"); };
  const fault = () => {
    const count = [...name.value.trim()].length;
    return count === 0 ? t("setup.shop.missing") : count > LONGEST_NAME ? t("setup.shop.tooLong", { count }) : null;
  };
  look();
  return {
    fields: [name],
    element: h("div", { class: "stack" }, name.element, logo.element, preview),
    typing() {
      look();
      if (name.value.trim() !== "") name.setError(fault());
    },
    async submit() {
      if (!allFine([[name, fault()]])) return false;
      await change(known, { merchantName: name.value.trim() });
      return { merchantName: name.value.trim() };
    },
  };
}

/** The answer to a test, in words. */
function verdict(answer) {
  return answer.ok
    ? notice("good", t("setup.gateway.testOK", { milliseconds: answer.milliseconds }), answer.message)
    : notice("bad", t("setup.gateway.testBad"), `${answer.message} ${answer.action}`.trim());
}

function gatewayStep({ known, typed, setNext }) {
  const { settings } = known;
  const address = textField("gatewayURL", { label: t("setup.gateway.url"), help: t("setup.gateway.urlHelp"), value: start(known, typed, "gatewayURL", USUAL_GATEWAY), attributes: { ...PLAIN, inputmode: "url", maxlength: 500 } });
  const key = secretField("gatewayKey", { label: t("setup.gateway.key"), help: t(settings?.gatewayKeySet ? "setup.gateway.keyStored" : "setup.gateway.keyHelp"), autocomplete: "off", attributes: { maxlength: 500 } });
  const { field: password, sift } = passwordField(known, () => key.value !== "" || address.value.trim() !== settings.gatewayURL);
  const tested = h("div", { class: "tested", role: "status" });
  const test = busyButton({ label: t("setup.gateway.test"), busyLabel: t("setup.gateway.testing"), className: "button wide", type: "button" });
  let isAcceptedAnyway = false;

  function faults() {
    const isKept = settings?.gatewayKeySet && address.value.trim() === settings.gatewayURL;
    return [
      [address, address.value.trim() ? null : t("setup.required")],
      [key, /^mrch_/.test(key.value) ? t("setup.gateway.isID") : key.value || isKept ? null : t("setup.required")],
    ];
  }

  async function ask() {
    refill(tested);
    const merchantID = settings?.merchantID ?? known.setUp.answers.merchantID ?? "";
    const answer = await api.testConnection({ gatewayURL: address.value.trim(), merchantID, ...(key.value ? { gatewayKey: key.value } : {}) });
    refill(tested, verdict(answer));
    return answer;
  }

  async function runTest() {
    if (!allFine(faults())) return;
    try {
      await ask();
    } catch (error) {
      for (const field of [address, key]) field.setError(error.fields?.[field.name] ? problemText(error.fields[field.name]) : null);
      refill(tested, notice("bad", error.message, error.action));
    }
  }
  test.element.addEventListener("click", () => test.during(runTest));
  sift();
  return {
    fields: [address, key, password],
    element: h("div", { class: "stack" }, address.element, key.element, password.element, test.element, tested),
    typing() {
      sift();
      if (!test.isBusy) refill(tested);
      isAcceptedAnyway = false;
      setNext(t("setup.next"));
    },
    async submit() {
      if (!allFine(faults())) return false;
      const gatewayURL = address.value.trim();
      const isChanged = key.value !== "" || gatewayURL !== settings?.gatewayURL;
      if (isChanged && !isAcceptedAnyway) {
        const answer = await ask();
        if (!answer.ok) {
          isAcceptedAnyway = true;
          setNext(t("setup.gateway.anyway"));
          tested.append(h("p", { class: "quiet small" }, t("setup.gateway.anywayHelp")));
          return false;
        }
      }
      const changes = { gatewayURL, ...(key.value ? { gatewayKey: key.value } : {}) };
      if (settings) await change(known, changes, password.value);
      else known.settings = await api.saveSettings({ ...known.setUp.answers, country: undefined, language: pageLanguage(), ...changes });
      return {};
    },
  };
}

function doneStep({ setNext }) {
  setNext(t("setup.done.start"));
  const items = ["first", "second", "third"].map((name) => h("li", {}, t(`setup.done.${name}`)));
  return { element: h("div", { class: "stack" }, h("ol", { class: "setup-doing" }, items), notice("plain", t("setup.done.unsure"))) };
}

/** The steps by their names on the terminal. */
export const STEPS = {
  language: { build: languageStep },
  country: { build: countryStep, names: ["currency", "locale", "timeZone", "country"] },
  ids: { build: idsStep, names: ["operatorID", "merchantID"] },
  shop: { build: shopStep, names: ["merchantName"] },
  gateway: { build: gatewayStep, names: ["gatewayURL", "gatewayKey"] },
  acquirer: { build: acquirerStep, isOptional: true, isOffered: ({ taps }) => taps !== null },
  ways: { build: waysStep, isOptional: true },
  tips: { build: tipsStep, isOptional: true, isOffered: ({ taps }) => taps?.enabled === true },
  test: { build: testStep, isOptional: true },
  done: { build: doneStep },
};
