// New versions of the whole system: from a file or a stick to what the start after it said.

import * as api from "../api.js";
import { ask } from "../dialog.js";
import { h, refill } from "../dom.js";
import { busyButton, notice, secretField, showFieldErrors, textField } from "../form.js";
import { icon } from "../icons.js";
import { sendInPieces } from "../pieces.js";
import { momentText } from "../shop-time.js";
import { t } from "../strings.js";

const PAUSE_MILLISECONDS = 2000;

/** The page. */
export function updatesView() {
  const place = h("div", {}, h("p", { class: "quiet", role: "status" }, t("history.loading")));
  const element = h(
    "section", { class: "page settings backup", "aria-labelledby": "updates-title" },
    h("a", { class: "back-link", href: "#/settings" }, icon("left"), t("settings.title")),
    h("h1", { id: "updates-title", tabindex: "-1" }, t("updates.title")),
    h("p", { class: "lead" }, t("updates.lead")),
    place,
  );
  const standing = h("div", { class: "update-standing", role: "status" });
  const chooser = makeChooser(show);
  let timer = null;
  let isBuilt = false;

  /** Shows how it stands; what is typed stays. */
  function show(now) {
    if (!now.available) {
      refill(place, notice("plain", t("updates.absent"), t("updates.absentHelp")));
      return;
    }
    if (!isBuilt) refill(place, standing, chooser.element);
    isBuilt = true;
    refill(standing, facts(now), outcome(now), progress(now));
    chooser.show(now);
  }

  async function load() {
    try {
      show(await api.updates());
    } catch (error) {
      if (error.status === 401) return;
      // Once it is shown, the frame says when the terminal cannot be reached: during an update it starts anew.
      if (!isBuilt) refill(place, notice("bad", t("settings.loadFailed"), error.message), h("button", { class: "button", type: "button", on: { click: () => load() } }, t("trouble.retry")));
    }
  }
  load();
  timer = setInterval(() => { if (isBuilt && !document.hidden && !chooser.isBusy()) load(); }, PAUSE_MILLISECONDS);
  return { element, update() {}, end() { clearInterval(timer); } };
}

function facts({ version, slot, good }) {
  return h("dl", { class: "facts" }, [
    [t("updates.version"), version],
    slot ? [t("updates.slot"), slot] : null,
    good === null ? null : [t("updates.state"), good ? t("updates.good") : t("updates.notGood")],
  ].filter(Boolean).map(([name, value]) => h("div", {}, h("dt", {}, name), h("dd", { dir: "auto" }, value))));
}

function outcome({ last, phase, problem }) {
  if (problem) {
    const { message, action } = problem;
    return notice("bad", message, action);
  }
  if (!last || phase !== "idle") return null;
  const values = { version: last.version, from: last.from, at: momentText(last.at) };
  return notice(
    { good: "good", rolledBack: "bad", interrupted: "bad" }[last.result] ?? "plain", t(`updates.results.${last.result}`, values),
    t(`updates.resultHelps.${last.result}`, values),
  );
}

function progress({ phase, percent, offered }) {
  if (phase === "installing") {
    const what = offered ? t("updates.installing", { version: offered.version }) : t("updates.installingFromStick");
    return h(
      "div", { class: "card" }, h("p", { class: "strong" }, what),
      h("progress", { max: 100, value: percent, "aria-label": what }), h("p", {}, t("updates.doNotSwitchOff")),
    );
  }
  return phase === "restarting" ? notice("plain", t("updates.restarting"), t("updates.doNotSwitchOff")) : null;
}

/** Where a file is chosen and installed; hidden while one is on its way in. */
function makeChooser(onState) {
  const file = textField("file", { label: t("updates.file"), attributes: { type: "file", accept: ".raucb" } });
  const password = secretField("password", { label: t("settings.password"), autocomplete: "current-password" });
  const look = busyButton({ label: t("updates.look"), busyLabel: t("updates.looking"), className: "button wide" });
  const install = busyButton({ label: t("updates.install"), busyLabel: t("updates.beginning"), className: "button wide", type: "button" });
  const [upper, lower] = [h("div", { class: "trouble", role: "alert" }), h("div", { class: "trouble", role: "alert" })];
  const sent = h("div", { role: "status" });
  const found = h("div", { role: "status" });
  const step = h("div", { class: "backup-step", hidden: true }, found, password.element, lower, install.element);
  const sticks = h("div", {});
  let busy = false;
  let listed = "";
  file.control.addEventListener("input", () => { step.hidden = true; });

  const element = h(
    "form", { class: "settings-form", novalidate: true, on: {
      submit: (event) => { event.preventDefault(); look.during(() => during(upper, fromFile)); },
    } },
    h("fieldset", { class: "card" }, h("legend", {}, t("updates.choose")), h("p", {}, t("updates.chooseHelp")), sticks, file.element, sent, upper, look.element, step),
  );
  install.element.addEventListener("click", () => install.during(() => during(lower, begin)));

  /** Does it, and says what is wrong where it is asked for. */
  async function during(trouble, body) {
    refill(trouble);
    for (const field of [file, password]) field.setError(null);
    busy = true;
    try {
      await body();
    } catch (error) {
      if (error.status === 401) return;
      const known = error instanceof api.Refused ? [file, password].filter((field) => error.fields[field.name]) : [];
      if (known.length > 0) showFieldErrors([file, password], error);
      else refill(trouble, notice("bad", error.message, error.action ?? ""));
    } finally {
      busy = false;
      refill(sent);
    }
  }

  async function fromFile() {
    step.hidden = true;
    const chosen = file.control.files[0];
    if (!chosen) return file.setError(t("updates.fileMissing"));
    await sendInPieces(chosen, { begin: api.beginUpdate, add: api.addToUpdate }, (percent) => refill(sent, h("p", {}, t("updates.sending", { percent }))));
    onState(await api.checkUpdate({}));
  }

  async function begin() {
    const yes = await ask({ title: t("updates.sure"), text: t("updates.sureText"), yes: t("updates.sureYes"), no: t("updates.sureNo") });
    if (!yes) return;
    onState(await api.installUpdate({ password: password.value }));
    password.value = "";
  }

  function show({ phase, offered, sticks: on, chargeOpen, version }) {
    element.hidden = phase === "installing" || phase === "restarting";
    step.hidden = !offered;
    if (offered) refill(found, notice(chargeOpen ? "plain" : "good", t("updates.found", { version: offered.version, from: version }), chargeOpen ? t("updates.chargeOpen") : ""));
    const names = JSON.stringify(on);
    if (names === listed) return;
    listed = names;
    refill(sticks, on.map(({ name }) => {
      const take = busyButton({ label: t("updates.fromStick", { name }), busyLabel: t("updates.looking"), className: "button wide", type: "button" });
      take.element.addEventListener("click", () => take.during(() => during(upper, async () => { onState(await api.checkUpdate({ stick: name })); })));
      return take.element;
    }));
  }
  return { element, show, isBusy: () => busy };
}
