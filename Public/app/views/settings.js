// The merchant's settings: the one form of the first set-up and of every change after.

import * as api from "../api.js";
import { h, refill } from "../dom.js";
import { busyButton, choiceField, notice, secretField, showFieldErrors, textField } from "../form.js";
import { icon } from "../icons.js";
import { SIGNED_OUT } from "../lazy.js";
import { amountText, CURRENCIES, exponentOf, fieldText, LOCALES, minorDigits } from "../money.js";
import { watchName } from "../name-check.js";
import { state } from "../store.js";
import { LANGUAGES, pageLanguage, t } from "../strings.js";
import { changedLine } from "../who.js";
import { addressPart } from "./address-part.js";
import { logoField } from "./logo.js";

const DRAFT = "till.settings-draft";
const COMMON_CURRENCIES = ["EUR", "USD", "GBP", "CHF"];

/** What was typed and not saved outlives a sign-in and a reload. Secrets stay in this module's memory only. */
let secrets = {};

function draft() {
  try {
    return JSON.parse(sessionStorage.getItem(DRAFT)) ?? {};
  } catch {
    return {};
  }
}

function forgetDraft() {
  sessionStorage.removeItem(DRAFT);
  secrets = {};
}

addEventListener(SIGNED_OUT, forgetDraft);

function currencyNames() {
  const names = new Intl.DisplayNames(pageLanguage(), { type: "currency", fallback: "code" });
  const option = (code) => [code, names.of(code) === code ? code : `${code} · ${names.of(code)}`];
  return [
    [null, [["", t("settings.choose")]]],
    [t("settings.common"), COMMON_CURRENCIES.map(option)],
    [t("settings.all"), CURRENCIES.filter((code) => !COMMON_CURRENCIES.includes(code)).map(option)],
  ];
}

function localeNames(currency) {
  const names = new Intl.DisplayNames(pageLanguage(), { type: "language", languageDisplay: "standard" });
  const example = (locale) => amountText("123450", { currency: currency || "EUR", exponent: 2, locale });
  return [[null, LOCALES.map((locale) => [locale, `${example(locale)} · ${names.of(locale)}`])]];
}

function browserLocale() {
  const wanted = navigator.languages ?? [navigator.language];
  return wanted.find((tag) => LOCALES.includes(tag))
    ?? wanted.map((tag) => LOCALES.find((locale) => locale.split("-")[0] === tag.split("-")[0])).find(Boolean) ?? "en-US";
}

/** How amounts are written in this form: as the shop writes them before it is saved. */
function localeOf(saved) { return saved.locale ?? browserLocale(); }

function makeFields(saved, typed) {
  const start = (name, fallback = "") => typed[name] ?? saved[name] ?? fallback;
  const plain = { autocapitalize: "none", spellcheck: "false" };
  const currency = start("currency", "");
  const exponent = exponentOf(currency);
  const limit = (name) => typed[name] ?? (saved[`${name}Minor`] ? fieldText(String(saved[`${name}Minor`]), exponent, localeOf(saved)) : "");
  return {
    merchantName: textField("merchantName", {
      label: t("settings.merchantName"), help: t("settings.merchantNameHelp"), value: start("merchantName"), attributes: { autocomplete: "organization" },
    }),
    currency: choiceField("currency", { label: t("settings.currency"), value: currency, groups: currencyNames() }),
    locale: choiceField("locale", { label: t("settings.locale"), value: start("locale", browserLocale()), groups: localeNames(currency) }),
    language: choiceField("language", {
      label: t("settings.language"), help: t("settings.languageHelp"), value: saved.version ? start("language", "en") : typed.language ?? pageLanguage(), groups: [[null, Object.entries(LANGUAGES)]],
    }),
    timeZone: choiceField("timeZone", { label: t("settings.timeZone"), help: t("settings.timeZoneHelp"), value: startZone(saved, typed), groups: zoneNames(saved) }),
    chargeLimit: textField("chargeLimitMinor", {
      label: t("settings.chargeLimit"), help: t("settings.chargeLimitHelp"), value: limit("chargeLimit"), attributes: { inputmode: "decimal" },
    }),
    hourlyLimit: textField("hourlyLimitMinor", {
      label: t("settings.hourlyLimit"), help: t("settings.hourlyLimitHelp"), value: limit("hourlyLimit"), attributes: { inputmode: "decimal" },
    }),
    operatorID: textField("operatorID", { label: t("settings.operatorID"), help: t("settings.operatorIDHelp"), value: start("operatorID"), attributes: plain }),
    merchantID: textField("merchantID", { label: t("settings.merchantID"), help: t("settings.merchantIDHelp"), value: start("merchantID"), attributes: plain }),
    gatewayURL: textField("gatewayURL", {
      label: t("settings.gatewayURL"), help: t("settings.gatewayURLHelp"), value: start("gatewayURL"), attributes: { ...plain, inputmode: "url" },
    }),
    gatewayKey: secretField("gatewayKey", {
      label: t("settings.gatewayKey"), help: t(saved.gatewayKeySet ? "settings.gatewayKeySet" : "settings.gatewayKeyHelp"), autocomplete: "off",
    }),
    password: secretField("password", { label: t("settings.password"), help: t("settings.passwordHelp"), autocomplete: "current-password" }),
  };
}

/** The zone that is set; for a new terminal, the one of the browser that sets it up. */
function startZone(saved, typed) {
  if (typeof typed.timeZone === "string") return typed.timeZone;
  return saved.version ? saved.timeZone ?? "" : Intl.DateTimeFormat().resolvedOptions().timeZone ?? "";
}

/** Every zone the browser knows, and those it may know under another name. */
function zoneNames(saved) {
  const own = [saved.timeZone, Intl.DateTimeFormat().resolvedOptions().timeZone, "UTC"].filter(Boolean);
  const all = Intl.supportedValuesOf?.("timeZone") ?? [];
  const names = [...new Set([...own, ...all])].sort();
  return [[null, [["", t("settings.timeZoneMachine")], ...names.map((name) => [name, name.replaceAll("_", " ")])]]];
}

/** The settings page. `onSaved` is told when the terminal has taken them. */
export function settingsView({ onSaved, onSignOut }) {
  const isReadOnly = state.session.role !== "owner";
  const place = h("div", {}, h("p", { class: "quiet", role: "status" }, t("history.loading")));
  const element = h(
    "section", { class: "page settings", "aria-labelledby": "settings-title" },
    isReadOnly ? h("a", { class: "back-link", href: "#/me" }, icon("left"), t("nav.me")) : null,
    h("h1", { id: "settings-title", tabindex: "-1" }, t("settings.title")),
    isReadOnly ? h("p", { class: "lead" }, t("me.settingsHelp")) : null,
    !isReadOnly && ["open", "later"].includes(state.session?.setUpState) ? h(
      "a", { class: "card way-on", href: "#/setup" },
      h("span", { class: "way-on-words" }, h("span", { class: "way-on-name" }, t("setup.goOn")), h("span", { class: "quiet small" }, t("setup.goOnHelp"))),
      icon("right", "row-arrow"),
    ) : null,
    place,
    isReadOnly ? null : h("div", { class: "card" }, logoField().element),
    addressPart().element,
    isReadOnly ? null : h(
      "a", { class: "card way-on", href: "#/staff" },
      h("span", { class: "way-on-words" }, h("span", { class: "way-on-name" }, t("staff.title")), h("span", { class: "quiet small" }, t("staff.linkHelp"))),
      icon("right", "row-arrow"),
    ),
    isReadOnly ? null : h(
      "a", { class: "card way-on", href: "#/phones" },
      h("span", { class: "way-on-words" }, h("span", { class: "way-on-name" }, t("phones.title")), h("span", { class: "quiet small" }, t("phones.linkHelp"))),
      icon("right", "row-arrow"),
    ),
    isReadOnly ? null : h(
      "a", { class: "card way-on", href: "#/connect" },
      h("span", { class: "way-on-words" }, h("span", { class: "way-on-name" }, t("connect.title")), h("span", { class: "quiet small" }, t("connect.linkHelp"))),
      icon("right", "row-arrow"),
    ),
    isReadOnly ? null : h(
      "a", { class: "card way-on", href: "#/counter" },
      h("span", { class: "way-on-words" }, h("span", { class: "way-on-name" }, t("counter.title")), h("span", { class: "quiet small" }, t("counter.linkHelp"))),
      icon("right", "row-arrow"),
    ),
    isReadOnly ? null : h(
      "a", { class: "card way-on", href: "#/customers" },
      h("span", { class: "way-on-words" }, h("span", { class: "way-on-name" }, t("customers.title")), h("span", { class: "quiet small" }, t("customers.linkHelp"))),
      icon("right", "row-arrow"),
    ),
    isReadOnly ? null : h(
      "a", { class: "card way-on", href: "#/receipts" },
      h("span", { class: "way-on-words" }, h("span", { class: "way-on-name" }, t("receipts.title")), h("span", { class: "quiet small" }, t("receipts.linkHelp"))),
      icon("right", "row-arrow"),
    ),
    isReadOnly ? null : h(
      "a", { class: "card way-on", href: "#/tokens" },
      h("span", { class: "way-on-words" }, h("span", { class: "way-on-name" }, t("tokens.title")), h("span", { class: "quiet small" }, t("tokens.linkHelp"))),
      icon("right", "row-arrow"),
    ),
    ...(isReadOnly ? ["network", "webhooks", "outbox", "health"] : ["network", "certificate", "webhooks", "outbox", "health", "audit", "backup", "updates"]).map((name) => h(
      "a", { class: "card way-on", href: `#/${name}` },
      h("span", { class: "way-on-words" }, h("span", { class: "way-on-name" }, t(`${name}.title`)), h("span", { class: "quiet small" }, t(`${name}.linkHelp`))),
      icon("right", "row-arrow"),
    )),
    isReadOnly ? null : h(
      "a", { class: "card way-on", href: "#/security" },
      h("span", { class: "way-on-words" }, h("span", { class: "way-on-name" }, t("security.link")), h("span", { class: "quiet small" }, t("security.linkHelp"))),
      icon("right", "row-arrow"),
    ),
    isReadOnly ? null : h("button", { class: "button sign-out-here", type: "button", on: { click: onSignOut } }, icon("signOut"), t("nav.signOut")),
  );

  async function load() {
    try {
      build(place, (await api.settings()) ?? {}, { isReadOnly, onSaved });
    } catch (error) {
      if (error.status === 404) {
        build(place, {}, { onSaved });
        return;
      }
      refill(
        place, notice("bad", t("settings.loadFailed"), error.message),
        h("button", { class: "button", type: "button", on: { click: load } }, t("trouble.retry")),
      );
    }
  }
  load();
  return { element, update() {}, end() {} };
}

function build(place, saved, { isReadOnly = false, onSaved }) {
  const fields = makeFields(saved, isReadOnly ? {} : draft());
  if (!isReadOnly) watchName(fields.merchantName);
  const all = Object.values(fields);
  fields.gatewayKey.value = secrets.gatewayKey ?? "";
  const trouble = h("div", { class: "trouble", role: "alert" });
  const tested = h("div", { class: "tested", role: "status" });
  const save = busyButton({ label: t("settings.save"), busyLabel: t("settings.saving") });
  const test = busyButton({ label: t("settings.test"), busyLabel: t("settings.testing"), className: "button wide", type: "button" });

  /** Whether payments would go elsewhere, for which the terminal wants the password. */
  const gatewayChanges = () => fields.gatewayKey.value !== ""
    || fields.gatewayURL.value.trim() !== (saved.gatewayURL ?? "") || fields.merchantID.value.trim() !== (saved.merchantID ?? "");
  const open = saved.openPayments ?? {};
  const concerned = h("p", { class: "quiet", role: "status" });
  const showPassword = () => {
    fields.password.element.hidden = !gatewayChanges();
    refill(concerned, gatewayChanges() && open.here > 0 ? t("settings.openHere", { count: open.here }) : "");
  };
  const keep = () => {
    const typed = {};
    for (const name of ["merchantName", "currency", "locale", "language", "timeZone", "chargeLimit", "hourlyLimit", "operatorID", "merchantID", "gatewayURL"]) typed[name] = fields[name].value;
    sessionStorage.setItem(DRAFT, JSON.stringify(typed));
    secrets = { gatewayKey: fields.gatewayKey.value };
    showPassword();
    if (!test.isBusy) refill(tested);
  };
  showPassword();

  async function runTest() {
    refill(tested);
    const { gatewayURL, merchantID, gatewayKey } = fields;
    for (const field of [gatewayURL, merchantID, gatewayKey]) field.setError(null);
    try {
      const answer = await api.testConnection({
        gatewayURL: gatewayURL.value, merchantID: merchantID.value, ...(gatewayKey.value ? { gatewayKey: gatewayKey.value } : {}),
      });
      refill(
        tested,
        answer.ok
          ? notice("good", t("settings.testOK", { milliseconds: answer.milliseconds }), answer.message)
          : notice("bad", answer.message || t("settings.testFailed"), answer.action),
      );
    } catch (error) {
      if (error instanceof api.Refused && Object.keys(error.fields).length > 0) showFieldErrors(all, error);
      refill(tested, notice("bad", error.message, error.action));
    }
  }

  async function submit() {
    refill(trouble);
    const body = bodyOf(fields, saved, !gatewayChanges());
    if (!body) return;
    try {
      await api.saveSettings(body);
      for (const field of all) field.setError(null);
      forgetDraft();
      await onSaved();
    } catch (error) {
      if (error.status === 401) return;
      const count = error instanceof api.Refused ? showFieldErrors(all, error) : 0;
      refill(
        trouble,
        count > 0 ? notice("bad", t("settings.problems", { count }), t("settings.nothingSaved")) : notice("bad", error.message, error.action),
      );
      if (count === 0) trouble.scrollIntoView({ block: "center" });
    }
  }

  test.element.addEventListener("click", () => test.during(runTest));
  /** What is being corrected is not wrong any more until the terminal says so again. */
  function corrected(event) {
    all.find((field) => field.control === event.target)?.setError(null);
    if (!all.some((field) => field.control.hasAttribute("aria-invalid"))) refill(trouble);
    keep();
  }

  const form = h(
    "form", { class: "settings-form", novalidate: true, on: {
      submit: (event) => { event.preventDefault(); save.during(submit); }, input: corrected,
    } },
    h("fieldset", { class: "card", disabled: isReadOnly }, h("legend", {}, t("settings.shop")), fields.merchantName.element, h("div", { class: "pair" }, fields.currency.element, fields.locale.element), h("div", { class: "pair" }, fields.language.element, fields.timeZone.element), h("div", { class: "pair" }, fields.chargeLimit.element, fields.hourlyLimit.element)),
    h("fieldset", { class: "card", disabled: isReadOnly }, h("legend", {}, t("settings.ids")), h("div", { class: "pair" }, fields.operatorID.element, fields.merchantID.element)),
    h("fieldset", { class: "card", disabled: isReadOnly }, h("legend", {}, t("settings.gateway")), fields.gatewayURL.element,
      open.followed > 0 ? notice("plain", t("settings.followed", { count: open.followed })) : null,
      open.stranded > 0 ? notice("bad", t("settings.stranded", { count: open.stranded })) : null,
      isReadOnly ? null : [fields.gatewayKey.element, concerned, fields.password.element, test.element, tested]),
    h("div", { class: "settings-end" }, trouble, isReadOnly ? null : save.element, changedLine(saved)),
  );
  refill(place, form);
}

/** What is sent; null where a limit is not an amount, which is then said at its field. */
function bodyOf(fields, saved, withoutPassword) {
  const currency = fields.currency.value;
  const exponent = currency === state.session?.currency ? state.session.currencyExponent ?? exponentOf(currency) : exponentOf(currency);
  const limits = {};
  for (const name of ["chargeLimit", "hourlyLimit"]) {
    const text = fields[name].value.trim();
    const digits = text === "" ? null : minorDigits(text, exponent, localeOf(saved));
    if (text !== "" && digits === null) {
      fields[name].setError(t("settings.chargeLimitError", { example: fieldText("50000", exponent, localeOf(saved)) }));
      fields[name].control.focus();
      return null;
    }
    // Whole and below 2^53: exact.
    limits[`${name}Minor`] = digits === null ? null : Number(digits);
  }
  return {
    operatorID: fields.operatorID.value,
    merchantID: fields.merchantID.value,
    merchantName: fields.merchantName.value,
    gatewayURL: fields.gatewayURL.value,
    currency,
    locale: fields.locale.value,
    language: fields.language.value,
    timeZone: fields.timeZone.value,
    ...limits,
    ...(fields.gatewayKey.value ? { gatewayKey: fields.gatewayKey.value } : {}),
    ...(withoutPassword ? {} : { password: fields.password.value }),
    ...(saved.version === undefined || saved.version === null ? {} : { version: saved.version }),
  };
}
