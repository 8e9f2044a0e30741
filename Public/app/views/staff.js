// Who works here: adding people, changing them, signing their phones in, and the browsers everybody shares.

import * as api from "../api.js";
import { clockText, personText } from "../charge-words.js";
import { ask } from "../dialog.js";
import { announce, freshID, h, refill } from "../dom.js";
import { busyButton, choiceField, notice, secretField, showFieldErrors, textField, toast } from "../form.js";
import { icon } from "../icons.js";
import { fieldText, minorDigits } from "../money.js";
import { qrImage } from "../qr.js";
import { momentText } from "../shop-time.js";
import { state } from "../store.js";
import { t } from "../strings.js";
import { changedLine, deviceText, initials } from "../who.js";

const LOCKS = [0, 1, 2, 5, 10, 15, 30, 60];

/** The page. `onCounter` gets the session where this browser became a counter. */
export function staffView({ onCounter }) {
  const isOwner = state.session.role === "owner";
  const place = h("div", { class: "staff" }, h("p", { class: "quiet", role: "status" }, t("history.loading")));
  const element = h(
    "section", { class: "page settings", "aria-labelledby": "staff-title" },
    h("a", { class: "back-link", href: isOwner ? "#/settings" : "#/me" }, icon("left"), t(isOwner ? "settings.title" : "nav.me")),
    h("h1", { id: "staff-title", tabindex: "-1" }, t("staff.title")),
    h("p", { class: "lead" }, t(isOwner ? "staff.lead" : "staff.leadManager")),
    place,
  );
  let shown = null;

  async function load() {
    try {
      show(await api.staff());
    } catch (error) {
      if (error.status === 401) return;
      refill(
        place, notice("bad", error.status === 403 ? error.message : t("settings.loadFailed"), error.action ?? error.message),
        h("button", { class: "button", type: "button", on: { click: load } }, t("trouble.retry")),
      );
    }
  }

  function show(answer) {
    shown = answer;
    if (!answer.readable) return refill(place, notice("bad", t("staff.unreadable"), t("staff.unreadableHelp")));
    const add = h("button", { class: "button primary wide", type: "button", on: { click: () => openPerson(null) } }, icon("plus"), t("staff.add"));
    refill(
      place,
      answer.people.length === 0 ? h("p", { class: "card quiet" }, t("staff.none")) : h("ul", { class: "staff-list card", "aria-label": t("staff.title") }, answer.people.map(row)),
      answer.people.length < answer.most ? add : h("p", { class: "quiet" }, t("staff.full", { count: answer.most })),
      counters(answer),
      isOwner ? rules(answer) : null,
      changedLine(answer),
    );
    return undefined;
  }

  function row(person) {
    const words = [t(`roles.${person.role}`)];
    if (!person.enabled) words.push(t("staff.off"));
    else if (!person.pinSet) words.push(t("staff.noPIN"));
    if (person.signedIn > 0) words.push(t("staff.signedIn"));
    const used = person.usedAt ? t("staff.used", { time: momentText(person.usedAt) }) : t("staff.unused");
    return h(
      "li", { class: "staff-row", "data-off": !person.enabled },
      h("span", { class: "person-disc", "aria-hidden": "true" }, initials(person.name)),
      h("div", { class: "staff-words" }, h("span", { class: "person-name" }, person.name), h("span", { class: "small" }, words.join(" · ")), h("span", { class: "quiet small" }, used)),
      person.mayChange
        ? h(
          "div", { class: "staff-buttons" },
          person.enabled ? h("button", { class: "button", type: "button", on: { click: () => showCode(person) } }, t("staff.code"), h("span", { class: "heard" }, ` ${person.name}`)) : null,
          h("button", { class: "button", type: "button", on: { click: () => openPerson(person) } }, t("staff.edit"), h("span", { class: "heard" }, ` ${person.name}`)),
        )
        : null,
    );
  }

  /** A person's form in a dialog; a new one where `person` is null. */
  function openPerson(person) {
    const titleID = freshID("person-title");
    const name = textField("name", { label: t("staff.name"), help: t("staff.nameHelp"), value: person?.name ?? "", attributes: { maxlength: 40 } });
    const roles = isOwner ? ["cashier", "manager"] : ["cashier"];
    const role = choiceField("role", {
      label: t("staff.role"), help: t("staff.roleHelp"), value: person?.role ?? "cashier", groups: [[null, roles.map((key) => [key, t(`roles.${key}`)])]],
    });
    const pin = secretField("pin", {
      label: t(person ? "staff.newPIN" : "staff.pin"), help: t(person ? "staff.newPINHelp" : "staff.pinHelp"), autocomplete: "off", attributes: { inputmode: "numeric", maxlength: 8 },
    });
    const fields = [name, role, pin];
    const trouble = h("div", { class: "trouble", role: "alert" });
    const save = busyButton({ label: t(person ? "staff.save" : "staff.addButton"), busyLabel: t("settings.saving"), className: "button primary" });
    const work = async (body, words) => {
      refill(trouble);
      try {
        show(await body());
        dialog.close();
        toast(words);
      } catch (error) {
        if (error.status === 401) return dialog.close();
        if (error instanceof api.Refused && showFieldErrors(fields, error) > 0) return undefined;
        refill(trouble, notice("bad", error.message, error.action));
      }
      return undefined;
    };
    function submit() {
      pin.setError(pin.value === "" || /^\d{4,8}$/.test(pin.value) ? null : t("staff.pinForm"));
      name.setError(name.value.trim() ? null : t("staff.nameMissing"));
      const wrong = fields.find((field) => field.control.hasAttribute("aria-invalid"));
      if (wrong) return wrong.control.focus();
      const body = { name: name.value, role: role.value, ...(pin.value ? { pin: pin.value } : {}) };
      return save.during(() => work(
        () => (person ? api.changePerson(person.id, body) : api.addPerson(body)),
        t(person ? "staff.saved" : "staff.added", { name: name.value.trim() }),
      ));
    }
    async function remove() {
      const yes = await ask({ title: t("staff.removeTitle", { name: person.name }), text: t("staff.removeText"), yes: t("staff.removeYes"), no: t("staff.removeNo"), isGrave: true });
      if (yes) await work(() => api.removePerson(person.id), t("staff.removed", { name: person.name }));
    }
    const dialogClosed = () => dialog.close();
    const turn = () => work(() => api.changePerson(person.id, { enabled: !person.enabled }), t(person.enabled ? "staff.turnedOff" : "staff.turnedOn", { name: person.name }));
    const dialog = h(
      "dialog", { class: "dialog person-dialog", "aria-labelledby": titleID },
      h("h2", { id: titleID }, person ? person.name : t("staff.add")),
      h(
        "form", { class: "stack", novalidate: true, on: {
          submit: (event) => { event.preventDefault(); submit(); },
          input: (event) => fields.find((field) => field.control === event.target)?.setError(null),
        } },
        trouble, name.element, role.element, pin.element,
        h("div", { class: "dialog-buttons" }, h("button", { class: "button", type: "button", on: { click: () => dialog.close() } }, t("staff.cancel")), save.element),
      ),
      person
        ? h(
          "div", { class: "person-more" },
          h("button", { class: "button wide", type: "button", on: { click: turn } }, t(person.enabled ? "staff.turnOff" : "staff.turnOn")),
          h("p", { class: "field-help" }, t("staff.turnOffHelp")),
          phones(person, dialogClosed),
          h("button", { class: "text-button", type: "button", on: { click: remove } }, t("staff.remove")),
          h("p", { class: "quiet small" }, t("staff.addedBy", { who: personText(person.createdBy), time: momentText(person.createdAt) })),
          changedLine(person),
        )
        : null,
    );
    open(dialog);
    name.control.focus();
  }

  /** The phones at which a person's PIN works; null where there is none. */
  function phones(person, close) {
    const own = shown.browsers.filter((browser) => browser.person === person.id);
    if (own.length === 0) return null;
    return h(
      "section", { class: "person-phones" }, h("h3", {}, t("staff.phones")),
      h("ul", { class: "sessions" }, own.map((browser) => h(
        "li", { class: "session" },
        h("div", { class: "session-words" }, h("span", { class: "session-name" }, deviceText(browser)), h("span", { class: "quiet small" }, t("staff.letIn", { time: momentText(browser.madeAt) }))),
        h("button", { class: "button", type: "button", on: { click: () => forget(browser, "staff.phoneForgotten").then(close) } }, t("staff.forget"), h("span", { class: "heard" }, ` ${deviceText(browser)}`)),
      ))),
    );
  }

  /** The one-time code that signs one phone in. */
  async function showCode(person) {
    let made;
    try {
      made = await api.makeSignInCode(person.id);
    } catch (error) {
      if (error.status !== 401) toast(error.message, { isBad: true });
      return;
    }
    const titleID = freshID("code-title");
    const left = h("p", { class: "quiet code-left" });
    const dialog = h(
      "dialog", { class: "dialog code-dialog", "aria-labelledby": titleID },
      h("h2", { id: titleID }, t("staff.codeTitle", { name: made.name })),
      h("p", {}, t("staff.codeHelp")),
      made.modules.length > 0 ? qrImage(made.modules, t("staff.codeLabel", { name: made.name })) : null,
      h("p", { class: "quiet small" }, t("staff.codeTyped", { address: made.address })),
      h("output", { class: "sign-in-code", translate: "no" }, made.code), left,
      h("button", { class: "button wide", type: "button", autofocus: true, on: { click: () => dialog.close() } }, t("staff.codeDone")),
    );
    const until = performance.now() + made.seconds * 1_000;
    const timer = setInterval(tick, 1_000);
    function tick() {
      const seconds = Math.max(0, Math.ceil((until - performance.now()) / 1_000));
      left.textContent = t("staff.codeLeft", { time: clockText(seconds) });
      if (seconds > 0) return;
      dialog.close();
      announce(t("staff.codeOver"));
    }
    tick();
    dialog.addEventListener("close", () => {
      clearInterval(timer);
      load();
    });
    open(dialog);
  }

  function open(dialog) {
    dialog.addEventListener("click", (event) => { if (event.target === dialog) dialog.close(); });
    dialog.addEventListener("close", () => dialog.remove());
    document.body.append(dialog);
    dialog.showModal();
  }

  /** The browsers at which everybody may type a PIN. */
  function counters(answer) {
    const shared = answer.browsers.filter((browser) => !browser.person);
    const isHere = shared.some((browser) => browser.current);
    const make = busyButton({ label: t("staff.makeCounter"), busyLabel: t("settings.saving"), className: "button wide", type: "button" });
    make.element.addEventListener("click", () => make.during(async () => {
      try {
        onCounter(await api.makeCounter());
        toast(t("staff.madeCounter"));
        await load();
      } catch (error) {
        if (error.status !== 401) toast(error.message, { isBad: true });
      }
    }));
    return h(
      "section", { class: "card counters", "aria-labelledby": "counters-title" },
      h("h2", { id: "counters-title" }, t("staff.counters")), h("p", { class: "field-help" }, t("staff.countersHelp")),
      shared.length === 0 ? null : h("ul", { class: "sessions" }, shared.map((browser) => h(
        "li", { class: "session", "data-current": browser.current },
        h(
          "div", { class: "session-words" },
          h("span", { class: "session-name" }, browser.current ? icon("check") : null, browser.current ? t("security.thisBrowser") : deviceText(browser)),
          h("span", { class: "quiet small" }, t("staff.madeBy", { who: personText(browser.madeBy), time: momentText(browser.madeAt) })),
        ),
        h("button", { class: "button", type: "button", on: { click: () => forget(browser) } }, t("staff.forget"), h("span", { class: "heard" }, ` ${deviceText(browser)}`)),
      ))),
      isHere ? null : make.element,
    );
  }

  async function forget(browser, words = "staff.forgotten") {
    const isSure = await ask({
      title: t("staff.forgetTitle"), text: t("staff.forgetText"), yes: t("staff.forgetYes"), no: t("staff.forgetNo"), isGrave: true,
    });
    if (!isSure) return;
    try {
      const answer = await api.forgetBrowser(browser.id);
      if (browser.current) onCounter(await api.session());
      show(answer);
      toast(t(words));
    } catch (error) {
      if (error.status === 401) return;
      toast(error.message, { isBad: true });
      load();
    }
  }

  /** What the roles may charge, and when an unused counter locks itself. */
  function rules(answer) {
    const exponent = state.session.currencyExponent ?? 2;
    const { locale } = state.session;
    const money = (minor) => (minor ? fieldText(String(minor), exponent, locale) : "");
    const limit = (role) => textField(`${role}MaximumMinor`, {
      label: t(`staff.${role}Maximum`), help: t("staff.maximumHelp"), value: money(answer[`${role}MaximumMinor`]), attributes: { inputmode: "decimal" },
    });
    const limits = [limit("cashier"), limit("manager")];
    const minutes = [...new Set([...LOCKS, answer.lockMinutes ?? 0])].sort((one, other) => one - other);
    const lock = choiceField("lockMinutes", {
      label: t("staff.lock"), help: t("staff.lockHelp"), value: String(answer.lockMinutes ?? 0),
      groups: [[null, minutes.map((count) => [String(count), count === 0 ? t("staff.lockNever") : t("staff.lockAfter", { count })])]],
    });
    const save = busyButton({ label: t("staff.save"), busyLabel: t("settings.saving"), className: "button wide" });
    const trouble = h("div", { class: "trouble", role: "alert" });
    async function submit() {
      refill(trouble);
      const body = { lockMinutes: lock.value === "0" ? null : Number(lock.value) };
      for (const field of limits) {
        const text = field.value.trim();
        const digits = text === "" ? null : minorDigits(text, exponent, locale);
        field.setError(text !== "" && digits === null ? t("settings.chargeLimitError", { example: fieldText("50000", exponent, locale) }) : null);
        if (text !== "" && digits === null) {
          field.control.focus();
          return;
        }
        body[field.name] = digits === null ? null : Number(digits);
      }
      try {
        show(await api.saveStaffRules(body));
        toast(t("staff.rulesSaved"));
      } catch (error) {
        if (error.status === 401) return;
        if (error instanceof api.Refused && showFieldErrors([...limits, lock], error) > 0) return;
        refill(trouble, notice("bad", error.message, error.action));
      }
    }
    return h(
      "form", { class: "settings-form", novalidate: true, on: {
        submit: (event) => { event.preventDefault(); save.during(submit); },
        input: (event) => limits.find((field) => field.control === event.target)?.setError(null),
      } },
      h("fieldset", { class: "card" }, h("legend", {}, t("staff.rules")), h("div", { class: "pair" }, limits.map((field) => field.element)), lock.element, trouble, save.element),
    );
  }

  load();
  return { element, update() {}, end() { document.querySelector("dialog.person-dialog, dialog.code-dialog")?.close(); } };
}
