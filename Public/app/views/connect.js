// Payments from wallets that pair with the terminal: on or off, the relay between them, and which code the screen shows.

import * as api from "../api.js";
import { ask } from "../dialog.js";
import { h, refill } from "../dom.js";
import { busyButton, checkField, notice, showFieldErrors, textField } from "../form.js";
import { icon } from "../icons.js";
import { t } from "../strings.js";
import { settingsPage } from "./settings-page.js";

const TEXTS = ["projectID", "relayURL", "chains"];
const CHECKS = ["enabled", "oneCode"];

function makeFields(saved) {
  const text = (name, attributes = {}) => textField(name, {
    label: t(`connect.${name}`), help: t(`connect.${name}Help`), value: saved[name] ?? "",
    attributes: { autocapitalize: "none", spellcheck: "false", autocomplete: "off", ...attributes },
  });
  const check = (name) => checkField(name, { label: t(`connect.${name}`), help: t(`connect.${name}Help`), checked: saved[name] === true });
  return {
    enabled: check("enabled"),
    projectID: text("projectID"),
    oneCode: check("oneCode"),
    relayURL: text("relayURL", { inputmode: "url" }),
    chains: text("chains"),
  };
}

/** What the terminal says of the relay now. */
function standing(place, saved) {
  const { light } = saved;
  refill(place, [
    light?.state === "ready" ? notice("good", t("connect.ready")) : null,
    light?.state === "connecting" ? notice("plain", t("connect.connecting")) : null,
    light?.state === "hindered" ? notice("bad", light.message, light.action) : null,
  ].filter(Boolean));
}

/** The page. */
export function connectView() { return settingsPage("connect", { read: api.connect, build }); }

/** A button for what cannot be taken back. */
function forgetting() {
  const said = h("div", { class: "trouble", role: "alert" });
  const button = busyButton({ label: t("connect.forget"), busyLabel: t("connect.forgettingNow"), className: "button wide", type: "button" });
  button.element.addEventListener("click", async () => {
    const yes = await ask({ title: t("connect.forgetTitle"), text: t("connect.forgetText"), yes: t("connect.forgetYes"), no: t("connect.forgetNo"), isGrave: true });
    if (!yes) return;
    await button.during(async () => {
      refill(said);
      try {
        await api.forgetConnect();
        refill(said, notice("good", t("connect.forgotten")));
      } catch (error) {
        if (error.status !== 401) refill(said, notice("bad", error.message, error.action));
      }
    });
  });
  return h("fieldset", { class: "card" }, h("legend", {}, t("connect.forgetting")), h("p", { class: "quiet" }, t("connect.forgettingHelp")), said, button.element);
}

function build(place, saved, onSaved) {
  const fields = makeFields(saved);
  const all = Object.values(fields);
  const trouble = h("div", { class: "trouble", role: "alert" });
  const save = busyButton({ label: t("settings.save"), busyLabel: t("settings.saving") });
  const status = h("div", { class: "phones-status", role: "status" });
  const more = h("details", { class: "card" }, h("summary", {}, t("connect.more"), icon("right")), fields.relayURL.element, fields.chains.element);
  const rest = h(
    "div", { class: "settings-form" },
    h("fieldset", { class: "card" }, h("legend", {}, t("connect.account")), fields.projectID.element),
    h("fieldset", { class: "card" }, h("legend", {}, t("connect.screen")), fields.oneCode.element),
    more,
  );
  const sift = () => { rest.hidden = !fields.enabled.checked; };

  async function submit() {
    refill(trouble);
    const body = { version: saved.version ?? 0 };
    for (const name of CHECKS) body[name] = fields[name].checked;
    if (fields.enabled.checked) for (const name of TEXTS) body[name] = fields[name].value.trim();
    try {
      await api.saveConnect(body);
      await onSaved();
    } catch (error) {
      if (error.status === 401) return;
      if (error.fields?.relayURL || error.fields?.chains) more.open = true;
      const named = all.filter((field) => field.setError);
      const count = error instanceof api.Refused ? showFieldErrors(named, error) : 0;
      refill(
        trouble,
        count > 0 ? notice("bad", t("settings.problems", { count }), t("settings.nothingSaved")) : notice("bad", error.message, error.action),
      );
      if (count === 0) trouble.scrollIntoView({ block: "center" });
    }
  }

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
    forgetting(),
  );
  sift();
  standing(status, saved);
  refill(place, form);
  let stood = JSON.stringify(saved.light);
  return {
    stand(now) {
      const stands = JSON.stringify(now.light);
      if (stands === stood) return;
      stood = stands;
      standing(status, now);
    },
  };
}
