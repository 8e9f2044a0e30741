// Form parts with label, help and error tied together, so that eyes, keyboards and screen readers get the same.

import { announce, freshID, h, refill } from "./dom.js";
import { icon } from "./icons.js";
import { pageLanguage, t } from "./strings.js";

/** Puts `control` under a label, with help below and room for an error. Returns what a form needs of it. */
function wrap(name, control, { label, help, frame = control, after = null }) {
  const errorID = `${control.id}-error`;
  const helpID = `${control.id}-help`;
  const error = h("p", { class: "field-error", id: errorID, hidden: true });
  const helpLine = help ? h("p", { class: "field-help", id: helpID }, help) : null;
  control.setAttribute("name", name);
  if (help) control.setAttribute("aria-describedby", helpID);
  const element = h("div", { class: "field" }, h("label", { for: control.id }, label), frame, error, helpLine, after);
  return {
    name,
    element,
    control,
    get value() { return control.value; },
    set value(text) { control.value = text; },
    /** Shows `message` at the field; null takes it away. */
    setError(message) {
      error.hidden = !message;
      refill(error, message ? [icon("alert"), h("span", {}, message)] : null);
      control.toggleAttribute("aria-invalid", false);
      if (message) control.setAttribute("aria-invalid", "true");
      const described = [message ? errorID : null, help ? helpID : null].filter(Boolean).join(" ");
      if (described) control.setAttribute("aria-describedby", described);
      else control.removeAttribute("aria-describedby");
    },
  };
}

/** A line of text. `attributes` go to the input. */
export function textField(name, { label, help, value = "", attributes = {} }) {
  const input = h("input", { id: freshID(name), class: "input", type: "text", dir: "auto", autocomplete: "off", ...attributes, value });
  return wrap(name, input, { label, help });
}

/** Lines of text, one below the other. `lines` reads those that are not empty. */
export function linesField(name, { label, help, lines = [], rows = 3 }) {
  const area = h("textarea", { id: freshID(name), class: "input", dir: "auto", rows, autocomplete: "off", value: lines.join("\n") });
  const field = wrap(name, area, { label, help });
  Object.defineProperty(field, "lines", { get: () => area.value.split("\n").map((line) => line.trim()).filter(Boolean) });
  return field;
}

/** A choice. `groups` are `[label or null, [[value, words], …]]`. */
export function choiceField(name, { label, help, value, groups }) {
  const options = (list) => list.map(([key, words]) => h("option", { value: key, selected: key === value }, words));
  const select = h(
    "select", { id: freshID(name), class: "input" },
    groups.map(([title, list]) => (title ? h("optgroup", { label: title }, options(list)) : options(list))),
  );
  select.value = value;
  return wrap(name, select, { label, help, frame: h("div", { class: "select" }, select, icon("right")) });
}

/** A yes or no. `checked` reads it. */
export function checkField(name, { label, help, checked }) {
  const input = h("input", { id: freshID(name), class: "check", type: "checkbox", name, checked });
  const helpID = `${input.id}-help`;
  if (help) input.setAttribute("aria-describedby", helpID);
  const element = h(
    "div", { class: "check-field" }, input,
    h("div", {}, h("label", { for: input.id }, label), help ? h("p", { class: "field-help", id: helpID }, help) : null),
  );
  return { name, element, control: input, get checked() { return input.checked; } };
}

/** A secret: hidden until asked to be shown; pasting is welcome. */
export function secretField(name, { label, help, autocomplete, withStrength = 0, attributes = {} }) {
  const input = h("input", {
    id: freshID(name), class: "input", type: "password", autocomplete, autocapitalize: "none", spellcheck: "false", ...attributes,
  });
  const toggle = h("button", { class: "reveal", type: "button", "aria-controls": input.id });
  const show = (isShown) => {
    input.type = isShown ? "text" : "password";
    const words = name === "password" ? (isShown ? "password.hide" : "password.show") : (isShown ? "password.hideSecret" : "password.showSecret");
    toggle.setAttribute("aria-label", t(words, { name: pageLanguage() === "en" ? label.toLowerCase() : label }));
    refill(toggle, icon(isShown ? "eyeOff" : "eye"));
  };
  toggle.addEventListener("click", () => show(input.type === "password"));
  show(false);
  const strength = withStrength ? strengthHint(input, withStrength) : null;
  return wrap(name, input, { label, help, frame: h("div", { class: "with-reveal" }, input, toggle), after: strength });
}

/** Length is what counts in a password; says so while it is typed. `least`: so many characters at least. */
function strengthHint(input, least) {
  const words = h("span", { class: "strength-words" });
  const hint = h("p", { class: "strength", role: "status", "data-level": "none" }, h("span", { class: "strength-bar" }), words);
  input.addEventListener("input", () => {
    const length = [...input.value].length;
    const [level, text] =
      length === 0 ? ["none", ""] :
      length < least ? ["short", t("password.tooShort", { missing: least - length })] :
      length > 64 ? ["long", t("password.tooLong")] :
      length < 15 ? ["fair", t("password.fair")] : ["good", t("password.good")];
    hint.dataset.level = level;
    if (words.textContent !== text) words.textContent = text;
  });
  return hint;
}

/** A message about the whole form. `kind`: "bad", "good" or "plain". */
export function notice(kind, title, more = "") {
  const name = { bad: "alert", good: "check", plain: "clock" }[kind];
  return h(
    "div", { class: `notice notice-${kind}` },
    icon(name), h("div", {}, h("p", { class: "notice-title" }, title), more ? h("p", {}, more) : null),
  );
}

/** A word that goes by itself, also heard. */
export function toast(text, { isBad = false } = {}) {
  const element = h("div", { class: isBad ? "toast toast-bad" : "toast" }, icon(isBad ? "alert" : "check"), h("span", {}, text));
  const main = document.querySelector("main");
  const place = main.querySelector(":scope > .toasts") ?? main.appendChild(h("div", { class: "toasts" }));
  place.append(element);
  announce(text, { atOnce: isBad });
  setTimeout(() => element.remove(), isBad ? 8_000 : 4_000);
}

/** What is wrong, and what to do about it: the advice holds what a field takes. */
export function problemText({ message, action }) { return [message, action].filter(Boolean).join(" "); }

/** Shows what `refused.fields` says beside each field that has a place for it and goes to the first; returns how many were shown. */
export function showFieldErrors(fields, refused) {
  const shown = [];
  for (const field of fields.filter((one) => one.setError)) {
    const problem = refused.fields[field.name];
    field.setError(problem ? problemText(problem) : null);
    if (problem) shown.push(field);
  }
  shown[0]?.control.focus();
  return shown.length;
}

/** A button that says what it is doing while `work` runs, and cannot be pressed twice. */
export function busyButton({ label, busyLabel, className = "button primary wide", type = "submit" }) {
  const words = h("span", {}, label);
  const element = h("button", { class: className, type }, h("span", { class: "spinner", hidden: true }), words);
  const spinner = element.firstChild;
  let isBusy = false;
  return {
    element,
    get isBusy() { return isBusy; },
    setLabel(text) { if (!isBusy) words.textContent = text; label = text; },
    async during(work) {
      if (isBusy) return;
      isBusy = true;
      element.setAttribute("aria-disabled", "true");
      spinner.hidden = false;
      words.textContent = busyLabel;
      try {
        await work();
      } finally {
        isBusy = false;
        element.removeAttribute("aria-disabled");
        spinner.hidden = true;
        words.textContent = label;
      }
    },
  };
}

/** Counts down in `place` and keeps `button` off until then: the terminal asked for patience. `onOver` is called at the end. */
export function waitOut(seconds, button, place, clockText, onOver = () => {}) {
  const until = performance.now() + seconds * 1000;
  const line = h("p", { class: "wait-line" });
  place.append(line);
  button.disabled = true;
  announce(t("wait.tryAgainIn", { time: clockText(seconds) }));
  const tick = () => {
    const left = Math.ceil((until - performance.now()) / 1000);
    if (left <= 0 || !line.isConnected) {
      button.disabled = false;
      line.remove();
      onOver();
      return;
    }
    line.textContent = t("wait.tryAgainIn", { time: clockText(left) });
    setTimeout(tick, 250);
  };
  tick();
}
