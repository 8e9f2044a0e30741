// The ways in for people who work here: their name and PIN at a browser that was let in, or a code from a manager.

import * as api from "../api.js";
import { clockText } from "../charge-words.js";
import { announce, h, refill } from "../dom.js";
import { busyButton, notice, textField, waitOut } from "../form.js";
import { icon, mark } from "../icons.js";
import { state } from "../store.js";
import { t } from "../strings.js";
import { initials } from "../who.js";

const SHORTEST = 4;
const LONGEST = 8;

function frame(title, lead, ...content) {
  const heading = h("h1", { tabindex: "-1" }, title);
  return [
    h("div", { class: "entrance-mark" }, mark()), heading, lead ? h("p", { class: "lead" }, lead) : null, content,
  ];
}

/**
 * Who is it? Names, then the PIN. `onOwner` goes to the owner's password. `hasEnded`: the session ended in the middle of
 * something. `note`: a word before.
 */
export function peopleView({ hasEnded, note, onDone, onOwner }) {
  const card = h("div", { class: "entrance-card people-card" });
  const element = h("main", { class: "entrance", id: "main" }, card);
  let shownNote = note;
  let endPad = () => {};

  function names() {
    endPad();
    const people = state.session?.people ?? [];
    refill(
      card,
      frame(
        t("people.title"), t(hasEnded ? "people.ended" : "people.lead"),
        h("div", { class: "trouble", role: "alert" }, shownNote ? notice("plain", shownNote) : null),
        people.length === 0 ? h("p", { class: "quiet" }, t("people.none")) : null,
        h(
          "ul", { class: "people", "aria-label": t("people.title") },
          people.map((person) => h("li", {}, h(
            "button", { class: "person-button", type: "button", on: { click: () => pad(person) } },
            h("span", { class: "person-disc", "aria-hidden": "true" }, initials(person.name)),
            h("span", { class: "person-name" }, person.name),
            h("span", { class: "quiet small" }, t(`roles.${person.role}`)),
          ))),
          h("li", {}, h(
            "button", { class: "person-button", type: "button", on: { click: onOwner } },
            h("span", { class: "person-disc", "aria-hidden": "true" }, icon("key")),
            h("span", { class: "person-name" }, t("roles.owner")), h("span", { class: "quiet small" }, t("people.withPassword")),
          )),
        ),
        h("a", { class: "text-link", href: "#/code" }, t("people.haveCode")),
      ),
    );
    shownNote = null;
    card.querySelector(".person-button")?.focus({ preventScroll: true });
  }

  function pad(person) {
    const trouble = h("div", { class: "trouble", role: "alert" });
    const field = h("input", {
      class: "input pin-input", type: "password", name: "pin", id: "pin", inputmode: "none", autocomplete: "off", maxlength: LONGEST, placeholder: t("people.pin"),
      "aria-label": t("people.pinOf", { name: person.name }), "aria-describedby": "pin-count",
    });
    const count = h("span", { class: "heard", id: "pin-count", role: "status" });
    const enter = busyButton({ label: t("people.enter"), busyLabel: t("people.entering"), className: "button primary wide" });
    const keys = h(
      "div", { class: "keys pin-keys", role: "group", "aria-label": t("people.keys") },
      [..."123456789"].map(key),
      h("button", { class: "key key-quiet", type: "button", "aria-label": t("people.clear"), on: { click: () => set("") } }, icon("cross")),
      key("0"),
      h("button", { class: "key key-quiet", type: "button", "aria-label": t("keypad.backspace"), on: { click: () => set(field.value.slice(0, -1)) } }, icon("backspace")),
    );
    let isWaiting = false;
    // A key that was tapped must not keep the focus: Enter would press it again instead of signing in.
    keys.addEventListener("mousedown", (event) => event.preventDefault());

    function key(digit) {
      return h("button", { class: "key", type: "button", on: { click: () => set(field.value + digit) } }, digit);
    }

    function set(digits) {
      field.value = digits.replace(/\D/g, "").slice(0, LONGEST);
      count.textContent = t("people.typed", { count: field.value.length });
      offer();
    }

    function offer() { enter.element.disabled = isWaiting || field.value.length < SHORTEST; }

    async function submit() {
      if (field.value.length < SHORTEST) return;
      refill(trouble);
      try {
        await onDone(await api.signInWithPIN(person.id, field.value));
      } catch (error) {
        set("");
        refill(trouble, notice("bad", error.message, error.action));
        if (error.retryAfterSeconds) {
          isWaiting = true;
          waitOut(error.retryAfterSeconds, enter.element, trouble, clockText, () => {
            isWaiting = false;
            offer();
          });
        }
        if (error.code === "browser_unknown") shownNote = error.message;
        field.focus();
      }
    }

    const form = h(
      "form", { class: "pin-form", novalidate: true, on: { submit: (event) => { event.preventDefault(); if (!enter.element.disabled) enter.during(submit); } } },
      trouble, field, count, keys, enter.element,
    );
    field.addEventListener("input", () => set(field.value));
    set("");
    refill(
      card,
      h("button", { class: "back-link person-back", type: "button", on: { click: names } }, icon("left"), t("people.other")),
      h("h1", { tabindex: "-1", class: "pin-name" }, h("span", { class: "person-disc", "aria-hidden": "true" }, initials(person.name)), h("span", {}, person.name)),
      form,
    );
    const onKey = (event) => { if (event.key === "Escape") names(); };
    element.addEventListener("keydown", onKey);
    endPad = () => element.removeEventListener("keydown", onKey);
    announce(t("people.pinOf", { name: person.name }));
    field.focus();
  }

  const people = state.session?.people ?? [];
  names();
  return {
    element,
    ready() {
      // Somebody's own phone needs no list.
      if (state.session?.browser === "own" && people.length === 1) pad(people[0]);
      else card.querySelector(".person-button")?.focus({ preventScroll: true });
    },
  };
}

/** A one-time code that signs this browser in. `code` and `fingerprint` come from a QR code. */
export function codeView({ code, onDone }) {
  const field = textField("code", {
    label: t("people.code"), help: t("people.codeHelp"), value: code,
    attributes: { autocomplete: "one-time-code", autocapitalize: "characters", spellcheck: "false", class: "input code-input", maxlength: 20 },
  });
  const button = busyButton({ label: t("people.useCode"), busyLabel: t("login.busy") });
  const trouble = h("div", { class: "trouble", role: "alert" });

  async function submit() {
    refill(trouble);
    field.setError(field.value.trim() ? null : t("people.codeMissing"));
    if (!field.value.trim()) {
      field.control.focus();
      return;
    }
    try {
      await onDone(await api.signInWithCode(field.value.trim()));
    } catch (error) {
      refill(trouble, notice("bad", error.message, error.action));
      if (error.retryAfterSeconds) waitOut(error.retryAfterSeconds, button.element, trouble, clockText);
      field.value = "";
      field.control.focus();
    }
  }

  const scanned = Boolean(code);
  field.element.hidden = scanned;
  const element = h(
    "main", { class: "entrance", id: "main" },
    h(
      "div", { class: "entrance-card" },
      frame(
        t(scanned ? "people.scannedTitle" : "people.codeTitle"), t(scanned ? "people.scannedLead" : "people.codeLead"),
        h(
          "form", { class: "stack", novalidate: true, on: { submit: (event) => {
            event.preventDefault();
            if (!button.element.disabled) button.during(submit).then(() => { field.element.hidden = false; });
          } } },
          trouble, field.element, button.element, h("a", { class: "text-link", href: "#/charge" }, t("people.notNow")),
        ),
      ),
    ),
  );
  return {
    element,
    ready() { (scanned ? button.element : field.control).focus(); },
    /** A code scanned while this page is open. */
    takeCode(text) { field.value = text; button.element.focus(); },
  };
}
