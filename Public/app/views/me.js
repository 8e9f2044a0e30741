// The page of whoever is signed in and is not the owner: who they are, their PIN, where they are signed in, the way out.

import * as api from "../api.js";
import { h } from "../dom.js";
import { busyButton, secretField } from "../form.js";
import { icon } from "../icons.js";
import { may } from "../may.js";
import { amountText } from "../money.js";
import { state } from "../store.js";
import { t } from "../strings.js";
import { initials } from "../who.js";
import { ownSecretForm } from "./own-secret.js";
import { sessionList } from "./security.js";

/** `onChanged` gets the session with its new token after the PIN was changed. */
export function meView({ onChanged, onSignOut }) {
  const { name, role, ownMaximumMinor, currency, currencyExponent: exponent, locale } = state.session;
  const list = sessionList({ title: t("me.sessions") });
  const element = h(
    "section", { class: "page settings me", "aria-labelledby": "me-title" },
    h(
      "div", { class: "me-head" }, h("span", { class: "person-disc", "aria-hidden": "true" }, initials(name ?? "")),
      h(
        "div", {}, h("h1", { id: "me-title", tabindex: "-1" }, name),
        h("p", { class: "quiet" }, t(`roles.${role}`), ownMaximumMinor ? ` · ${t("me.maximum", { amount: amountText(String(ownMaximumMinor), { currency, exponent, locale }) })}` : ""),
      ),
    ),
    may("staff") ? wayOn("staff", t("staff.title"), t("staff.linkHelp")) : null,
    may("settings") ? wayOn("settings", t("settings.title"), t("me.settingsHelp")) : null,
    pinForm(async (session) => {
      onChanged(session);
      await list.load();
    }),
    list.element,
    h("button", { class: "button sign-out-here", type: "button", on: { click: onSignOut } }, icon("signOut"), t("nav.signOut")),
  );
  list.load();
  return { element, update() {}, end() {} };
}

function wayOn(place, title, help) {
  return h(
    "a", { class: "card way-on", href: `#/${place}` },
    h("span", { class: "way-on-words" }, h("span", { class: "way-on-name" }, title), h("span", { class: "quiet small" }, help)),
    icon("right", "row-arrow"),
  );
}

function pinForm(onChanged) {
  const digits = { inputmode: "numeric", maxlength: 8 };
  const current = secretField("currentPIN", { label: t("me.currentPIN"), help: t("me.currentPINHelp"), autocomplete: "off", attributes: digits });
  const next = secretField("newPIN", { label: t("me.newPIN"), help: t("staff.pinHelp"), autocomplete: "off", attributes: digits });
  const button = busyButton({ label: t("me.changePIN"), busyLabel: t("security.changing") });
  return ownSecretForm({
    fields: [current, next], button, onChanged,
    check: () => next.setError(/^\d{4,8}$/.test(next.value) ? null : t("staff.pinForm")),
    change: () => api.changePIN(current.value, next.value),
    done: () => t("me.changedPIN"),
    parts: (trouble) => h("fieldset", { class: "card" }, h("legend", {}, t("me.pin")), trouble, h("div", { class: "pair" }, current.element, next.element), button.element),
  });
}
