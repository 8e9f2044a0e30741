// The form in which somebody changes what they sign in with: a password or a PIN.

import * as api from "../api.js";
import { clockText } from "../charge-words.js";
import { h, refill } from "../dom.js";
import { notice, showFieldErrors, toast, waitOut } from "../form.js";

/**
 * `fields`: the one that is in force first. `check` marks what cannot be right, `change` asks the terminal and returns the session
 * with its new token, which `onChanged` gets; `done` says what has changed. `parts(trouble)` is what the form shows.
 */
export function ownSecretForm({ fields, button, check, change, done, onChanged, parts }) {
  const trouble = h("div", { class: "trouble", role: "alert" });

  async function submit() {
    refill(trouble);
    check();
    const wrong = fields.find((field) => field.control.hasAttribute("aria-invalid"));
    if (wrong) {
      wrong.control.focus();
      return;
    }
    try {
      const session = await change();
      for (const field of fields) {
        field.value = "";
        field.control.dispatchEvent(new Event("input"));
      }
      toast(done());
      fields[0].control.focus();
      await onChanged(session);
    } catch (error) {
      if (error.status === 401) return;
      if (error instanceof api.Refused && showFieldErrors(fields, error) > 0) return;
      refill(trouble, notice("bad", error.message, error.action));
      if (error.retryAfterSeconds) waitOut(error.retryAfterSeconds, button.element, trouble, clockText);
    }
  }

  return h(
    "form", { class: "settings-form", novalidate: true, on: {
      submit: (event) => { event.preventDefault(); if (!button.element.disabled) button.during(submit); },
      input: (event) => fields.find((field) => field.control === event.target)?.setError(null),
    } },
    parts(trouble),
  );
}
