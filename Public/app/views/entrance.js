// The ways in: claim the terminal, sign in, and the page shown while the terminal cannot be reached.

import * as api from "../api.js";
import { clockText } from "../charge-words.js";
import { h, refill } from "../dom.js";
import { busyButton, notice, problemText, secretField, textField, waitOut } from "../form.js";
import { icon, mark } from "../icons.js";
import { lookButton } from "../look.js";
import { t } from "../strings.js";

function frame(title, lead, ...content) {
  return h(
    "main", { class: "entrance", id: "main" },
    h(
      "div", { class: "entrance-card" },
      h("div", { class: "entrance-head" }, h("div", { class: "entrance-mark" }, mark()), lookButton()), h("h1", {}, title),
      lead instanceof Node ? lead : h("p", { class: "lead" }, lead), content,
    ),
  );
}

/** Shows a refusal above the form, with the wait the terminal asked for. */
function showTrouble(place, error, button) {
  refill(place, notice("bad", error.message, error.action));
  if (error.retryAfterSeconds) waitOut(error.retryAfterSeconds, button, place, clockText);
}

/** What to compare with the browser's warning; with the fingerprint where the screen's QR code carried it. */
function certificateHint(fingerprint) {
  return h(
    "details", { class: "hint" }, h("summary", {}, t("claim.certificate")), h("p", {}, t("claim.certificateDetail")),
    fingerprint ? h("p", { class: "fingerprint" }, h("span", { class: "quiet small" }, t("claim.fingerprint")), h("code", {}, fingerprint)) : null,
  );
}

/** Claim with the code on the screen. `code` and `fingerprint` come from the address behind the screen's QR code. */
export function claimView({ code, fingerprint, onDone }) {
  const codeField = textField("code", {
    label: t("claim.code"),
    help: t("claim.codeHelp"),
    value: code,
    attributes: { autocomplete: "one-time-code", autocapitalize: "characters", spellcheck: "false", class: "input code-input", autofocus: !code },
  });
  const password = secretField("password", {
    label: t("claim.password"), help: t("password.help"), autocomplete: "new-password", withStrength: 8,
  });
  const button = busyButton({ label: t("claim.button"), busyLabel: t("claim.busy") });
  const trouble = h("div", { class: "trouble", role: "alert" });

  async function submit() {
    const length = [...password.value].length;
    codeField.setError(codeField.value.trim() ? null : t("claim.codeMissing"));
    password.setError(length >= 8 ? null : t("password.tooShortError"));
    refill(trouble);
    const wrong = [codeField, password].find((field) => field.control.hasAttribute("aria-invalid"));
    if (wrong) {
      wrong.control.focus();
      return;
    }
    try {
      onDone(await api.claim(codeField.value.trim(), password.value));
    } catch (error) {
      if (error.code === "already_claimed") {
        onDone(await api.session(), t("claim.alreadyClaimed"));
      } else if (error.code === "claimed_not_signed_in") {
        onDone(await api.session(), error.message);
      } else if (error.code?.startsWith("password_")) {
        password.setError(problemText(error));
        password.control.focus();
      } else {
        showTrouble(trouble, error, button.element);
        if (error.code === "claim_code_wrong") {
          codeField.setError(error.message);
          codeField.control.focus();
          codeField.control.select();
        }
      }
    }
  }

  const form = h(
    "form", { class: "stack", novalidate: true, on: { submit: (event) => { event.preventDefault(); if (!button.element.disabled) button.during(submit); } } },
    trouble,
    codeField.element,
    // Password keepers file the password under this name.
    h("input", { type: "text", name: "username", value: "owner", autocomplete: "username", hidden: true }),
    password.element,
    button.element,
    certificateHint(fingerprint),
  );
  return {
    element: frame(t("claim.title"), t("claim.lead"), form),
    ready() { (code ? password : codeField).control.focus(); },
    /** A code scanned while this page is open. */
    takeCode(scanned) { codeField.value = scanned; password.control.focus(); },
  };
}

/** How often the terminal is asked whether the stick is in. */
const RESET_MILLISECONDS = 5_000;

/** A new password with a code that the terminal's screen shows. `code` and `fingerprint` come from its QR code. */
export function resetView({ code, fingerprint, onDone }) {
  const place = h("div", { class: "stack" });
  const trouble = h("div", { class: "trouble", role: "alert" });
  const lead = h("p", { class: "lead" });
  const back = h("a", { class: "text-link", href: "#/charge" }, t("reset.back"));
  let takeCode = () => {};
  let timer = null;
  let hasEnded = false;

  /** Says what to do at the terminal, and goes on to the form once the code is on its screen. */
  function explain(why = null) {
    const standing = h("p", { role: "status" });
    lead.textContent = "";
    takeCode = (scanned) => set(scanned).focus();
    refill(place, trouble, h("p", {}, t("reset.told")), standing, back);

    async function look() {
      let answer;
      try {
        answer = await api.resetState();
      } catch (error) {
        if (!hasEnded) refill(trouble, notice("bad", error.message, error.action));
      }
      if (hasEnded || !standing.isConnected) return;
      if (answer) {
        refill(trouble, answer.reset ? null : why);
        const words = t(answer.way === "command" ? "reset.commandLead" : "reset.stickLead");
        if (lead.textContent !== words) lead.textContent = words;
        if (answer.reset?.state === "shown") {
          set("").focus();
          return;
        }
        const said = answer.reset ? t("reset.waiting", { count: answer.reset.minutes }) : answer.way === "stick" ? t("reset.none") : "";
        if (standing.textContent !== said) standing.textContent = said;
        if (answer.way === "command") return;
      }
      timer = setTimeout(look, RESET_MILLISECONDS);
    }
    look();
    return back;
  }

  function set(known) {
    clearTimeout(timer);
    lead.textContent = t("reset.lead");
    const codeField = textField("code", {
      label: t("reset.code"), help: t("reset.codeHelp"), value: known,
      attributes: { autocomplete: "one-time-code", autocapitalize: "characters", spellcheck: "false", class: "input code-input" },
    });
    const password = secretField("password", {
      label: t("security.new"), help: t("password.help"), autocomplete: "new-password", withStrength: 8,
    });
    const button = busyButton({ label: t("reset.button"), busyLabel: t("reset.busy") });
    const fields = [codeField, password];

    async function submit() {
      refill(trouble);
      codeField.setError(codeField.value.trim() ? null : t("claim.codeMissing"));
      password.setError([...password.value].length >= 8 ? null : t("password.tooShortError"));
      const wrong = fields.find((field) => field.control.hasAttribute("aria-invalid"));
      if (wrong) {
        wrong.control.focus();
        return;
      }
      try {
        onDone(await api.finishReset(codeField.value.trim(), password.value));
      } catch (error) {
        if (error.code?.startsWith("password_too")) {
          password.setError(problemText(error));
          password.control.focus();
        } else if (error.code === "reset_code_wrong") {
          codeField.setError(problemText(error));
          codeField.control.focus();
          codeField.control.select();
        } else if (error.code === "reset_not_running") {
          explain(notice("bad", error.message, error.action)).focus();
        } else {
          showTrouble(trouble, error, button.element);
        }
      }
    }

    takeCode = (scanned) => { codeField.value = scanned; password.control.focus(); };
    refill(
      place,
      h(
        "form", { class: "stack", novalidate: true, on: {
          submit: (event) => { event.preventDefault(); if (!button.element.disabled) button.during(submit); },
          input: (event) => fields.find((field) => field.control === event.target)?.setError(null),
        } },
        trouble, codeField.element,
        h("input", { type: "text", name: "username", value: "owner", autocomplete: "username", hidden: true }),
        password.element, button.element, certificateHint(fingerprint),
      ),
      back,
    );
    return (known ? password : codeField).control;
  }

  const first = code ? set(code) : explain();
  return {
    element: frame(t("reset.title"), lead, place),
    ready() { first.focus(); },
    end() { hasEnded = true; clearTimeout(timer); },
    /** A code scanned while this page is open. */
    takeCode(scanned) { takeCode(scanned); },
  };
}

/** Sign in. `hasEnded`: the session ended in the middle of something. `note`: a word before. */
export function loginView({ hasEnded, note, onDone, onPeople = null }) {
  const password = secretField("password", { label: t("password.label"), autocomplete: "current-password" });
  const button = busyButton({ label: t("login.button"), busyLabel: t("login.busy") });
  const trouble = h("div", { class: "trouble", role: "alert" }, note ? notice("plain", note) : null);

  async function submit() {
    refill(trouble);
    password.setError(password.value ? null : t("password.missing"));
    if (!password.value) {
      password.control.focus();
      return;
    }
    try {
      onDone(await api.login(password.value));
    } catch (error) {
      showTrouble(trouble, error, button.element);
      password.control.focus();
      password.control.select();
    }
  }

  const form = h(
    "form", { class: "stack", novalidate: true, on: { submit: (event) => { event.preventDefault(); if (!button.element.disabled) button.during(submit); } } },
    trouble,
    h("input", { type: "text", name: "username", value: "owner", autocomplete: "username", hidden: true }),
    password.element,
    button.element,
    h("a", { class: "text-link", href: "#/reset" }, t("login.forgot")),
    onPeople
      ? h("button", { class: "button wide", type: "button", on: { click: onPeople } }, icon("left"), t("login.backToPeople"))
      : h("a", { class: "text-link", href: "#/code" }, t("login.staffCode")),
  );
  return {
    element: frame(t("login.title"), t(onPeople ? "login.ownerLead" : hasEnded ? "login.ended" : "login.lead"), form),
    ready() { password.control.focus(); },
  };
}

/** The terminal did not answer when the page was opened. */
export function unreachableView({ onRetry }) {
  return {
    element: frame(
      t("app.unreachable"), t("app.unreachableDetail"),
      h("button", { class: "button primary wide", type: "button", on: { click: onRetry } }, t("app.tryNow")),
    ),
    ready() {},
  };
}
