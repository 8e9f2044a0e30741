// The owner's settings for charging at the counter.

import * as api from "../api.js";
import { h, refill } from "../dom.js";
import { busyButton, choiceField, notice, textField, toast } from "../form.js";
import { icon } from "../icons.js";
import { state, update } from "../store.js";
import { t } from "../strings.js";

const MODES = ["none", "allowed", "ask"];
const KEYPAD_MODES = ["on", "confirm", "off"];
const RESTS = ["never", "dim", "dark"];
const SOUNDS = ["true", "false"];

/** What is no number is none of the numbers allowed either, and the terminal says so at the field. */
function percentage(field) {
  const text = field.value.trim();
  return /^\d{1,3}$/.test(text) ? Number(text) : -1;
}

/** The page of tips at the counter. */
export function counterView() {
  let version = null;
  let hasEnded = false;
  const trouble = h("div", { class: "trouble", role: "alert" });
  const place = h("div", {});
  const element = h(
    "section", { class: "page settings", "aria-labelledby": "counter-title" },
    h("a", { class: "back-link", href: "#/settings" }, icon("left"), t("nav.settings")),
    h("h1", { id: "counter-title", tabindex: "-1" }, t("counter.title")), h("p", { class: "lead" }, t("counter.lead")), trouble, place,
  );

  function paint({ tips, keypad, screen, sound, version: stored }) {
    version = stored;
    const mode = choiceField("tipMode", { label: t("counter.mode"), value: tips.mode, groups: [[null, MODES.map((name) => [name, t(`counter.modes.${name}`)])]] });
    const presets = textField("tipPresets", { label: t("counter.presets"), help: t("counter.presetsHelp"), value: tips.presets.join(", "), attributes: { maxlength: 100 } });
    const maximum = textField("tipMaximumPercent", { label: t("counter.maximum"), help: t("counter.rounding"), value: String(tips.maximumPercent), attributes: { inputmode: "numeric", maxlength: 3 } });
    const keys = choiceField("keypadMode", { label: t("counter.keypad"), help: t("counter.keypadHelp"), value: keypad.mode, groups: [[null, KEYPAD_MODES.map((name) => [name, t(`counter.keypadModes.${name}`)])]] });
    const erase = choiceField("keypadErase", { label: t("counter.keypadErase"), help: t("counter.keypadEraseHelp"), value: String(keypad.mayErase), groups: [[null, ["true", "false"].map((name) => [name, t(`counter.keypadErases.${name}`)])]] });
    const tipFields = { tipMode: mode, tipPresets: presets, tipMaximumPercent: maximum };
    const keyFields = { keypadMode: keys, keypadErase: erase };
    const rest = choiceField("screenRest", { label: t("counter.screenRest"), help: t("counter.screenRestHelp"), value: screen.rest, groups: [[null, RESTS.map((name) => [name, t(`counter.screenRests.${name}`)])]] });
    const hours = { inputmode: "numeric", maxlength: 5, dir: "ltr" };
    const restFrom = textField("screenRestFrom", { label: t("counter.screenRestFrom"), value: screen.from, attributes: hours });
    const restUntil = textField("screenRestUntil", { label: t("counter.screenRestUntil"), help: t("counter.screenRestHours"), value: screen.until, attributes: hours });
    const screenFields = { screenRest: rest, screenRestFrom: restFrom, screenRestUntil: restUntil };
    const showHours = () => { for (const field of [restFrom, restUntil]) field.element.hidden = rest.value === "never"; };
    rest.control.addEventListener("change", showHours);
    showHours();
    const isHeard = choiceField("sound", { label: t("counter.sound"), help: t("counter.soundHelp"), value: String(sound.on), groups: [[null, SOUNDS.map((name) => [name, t(`counter.sounds.${name}`)])]] });
    const loudness = textField("soundLoudness", { label: t("counter.soundLoudness"), value: String(sound.loudness), attributes: { inputmode: "numeric", maxlength: 3 } });
    const soundFields = { sound: isHeard, soundLoudness: loudness };
    const fields = { ...tipFields, ...keyFields, ...screenFields, ...soundFields };
    const card = (group, ...more) => h("div", { class: "card" }, Object.values(group).map((field) => field.element), more);
    const button = busyButton({ label: t("counter.save"), busyLabel: t("counter.saving"), className: "button primary", type: "submit" });
    const isOwner = state.session?.role === "owner";
    for (const field of Object.values(fields)) field.control.disabled = !isOwner;
    const form = h("form", { class: "settings-form", novalidate: true }, card(tipFields), card(keyFields), card(screenFields), card(soundFields, trial(sound, loudness)), isOwner ? button.element : null);
    form.addEventListener("submit", (event) => {
      event.preventDefault();
      button.during(() => save(fields));
    });
    refill(place, form);
  }

  /** What plays, and a button that plays it as loud as the field says. */
  function trial({ device, trouble: silence }, loudness) {
    const standing = h("p", { class: "quiet small", role: "status" });
    const stand = (text) => { standing.textContent = text; };
    stand(silence ? `${silence.message} ${silence.action}` : t("counter.soundDevice", { device }));
    const button = busyButton({ label: t("counter.soundTry"), busyLabel: t("counter.soundTrying"), className: "button wide", type: "button" });
    button.element.addEventListener("click", () => button.during(async () => {
      loudness.setError(null);
      try {
        await api.trySound({ soundLoudness: percentage(loudness) });
        stand(t("counter.soundTried"));
      } catch (error) {
        if (error.status === 401) return;
        const reason = error.fields?.soundLoudness;
        if (reason) loudness.setError(`${reason.message} ${reason.action}`);
        else stand([error.message, error.action].filter(Boolean).join(" "));
      }
    }));
    return [standing, button.element];
  }

  async function save(fields) {
    refill(trouble);
    for (const field of Object.values(fields)) field.setError(null);
    try {
      const answer = await api.saveCounter({
        tipMode: fields.tipMode.value, tipPresets: fields.tipPresets.value,
        keypadMode: fields.keypadMode.value, keypadErase: fields.keypadErase.value === "true",
        screenRest: fields.screenRest.value, screenRestFrom: fields.screenRestFrom.value.trim(), screenRestUntil: fields.screenRestUntil.value.trim(),
        sound: fields.sound.value === "true", soundLoudness: percentage(fields.soundLoudness),
        tipMaximumPercent: Math.max(0, percentage(fields.tipMaximumPercent)), version,
      });
      update({ session: { ...state.session, tips: answer.tips } });
      if (!hasEnded) paint(answer);
      toast(t("counter.saved"));
    } catch (error) {
      if (error.status === 401) return;
      for (const [name, reason] of Object.entries(error.fields ?? {})) fields[name]?.setError(`${reason.message} ${reason.action}`);
      if (Object.keys(error.fields ?? {}).length === 0) refill(trouble, notice("bad", error.message, error.action));
      else Object.values(fields).find((field) => field.control.getAttribute("aria-invalid"))?.control.focus();
    }
  }

  api.counter().then((answer) => { if (!hasEnded) paint(answer); }, (error) => {
    if (error.status !== 401) refill(trouble, notice("bad", error.message, error.action));
  });
  return { element, update() {}, end() { hasEnded = true; } };
}
