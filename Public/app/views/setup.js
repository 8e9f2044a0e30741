// The set-up of a new terminal: one question at a time. Where it stands is kept on the terminal, so that it goes on after a
// reload and on another device; what is typed and not yet sent is kept in this browser.

import * as api from "../api.js";
import { announce, h, refill } from "../dom.js";
import { busyButton, notice, showFieldErrors, toast } from "../form.js";
import { icon } from "../icons.js";
import { state, update } from "../store.js";
import { t } from "../strings.js";
import { STEPS } from "./setup-steps.js";

const TYPED = "till.set-up-typed";

/** What was typed in this step and not sent yet; never a secret. */
function typedIn(step) {
  try {
    const kept = JSON.parse(sessionStorage.getItem(TYPED));
    return kept?.step === step ? kept.values : {};
  } catch {
    return {};
  }
}

/** The set-up. `onCharging` is told when the owner goes on to the charges. */
export function setupView({ onCharging }) {
  const words = h("p", { class: "setup-count" });
  const bar = h("progress", { class: "setup-bar", "aria-label": t("setup.progressHeard") });
  const back = h("button", { class: "setup-back", type: "button" }, icon("left"), h("span", {}, t("setup.back")));
  const title = h("h1", { id: "setup-title", tabindex: "-1" }, t("setup.progressHeard"));
  const lead = h("p", { class: "lead" });
  const place = h("div", { class: "setup-place" }, h("p", { class: "quiet", role: "status" }, t("history.loading")));
  const trouble = h("div", { class: "trouble", role: "alert" });
  const next = busyButton({ label: t("setup.next"), busyLabel: t("setup.nextBusy") });
  const skip = h("button", { class: "button wide", type: "button" }, t("setup.skip"));
  const later = h("button", { class: "text-link setup-later", type: "button" }, t("setup.later"));
  const form = h(
    "form", { class: "setup-form", novalidate: true, on: { submit: (event) => { event.preventDefault(); next.during(goOn); }, input: typing } },
    h("div", { class: "setup-head" }, h("div", { class: "setup-line" }, back, words), bar), title, lead, place,
    h("div", { class: "setup-end" }, trouble, h("div", { class: "setup-buttons" }, skip, next.element), later),
  );
  const element = h("section", { class: "page setup", "aria-labelledby": "setup-title" }, form);

  /** What the terminal holds: how far the set-up is, and the settings where there are any. */
  const known = { setUp: null, settings: null, taps: null, wallets: null };
  let step = null;
  let name = null;
  let isOver = false;
  /** An answer got lost: what was sent may be stored. */
  let isUncertain = false;

  /** The steps that this terminal has. */
  function offered() {
    return known.setUp.steps.filter((each) => STEPS[each] && (STEPS[each].isOffered?.(known) ?? true));
  }

  function beside(current, direction) {
    const all = offered();
    const at = all.indexOf(current);
    if (at >= 0) return all[at + direction] ?? null;
    // A step that is not offered here: the next one that is, in the order of all.
    const order = known.setUp.steps;
    const rest = direction > 0 ? all : [...all].reverse();
    return rest.find((each) => direction * (order.indexOf(each) - order.indexOf(current)) > 0) ?? null;
  }

  async function load(note = null) {
    refill(trouble);
    try {
      [known.setUp, known.settings, known.taps, known.wallets] = await Promise.all([
        api.setUp(), api.settings().catch(absent), api.phones(), api.connect(),
      ].map((asked, index) => (index > 1 ? asked.catch(absent) : asked)));
      known.settings = known.settings?.version ? known.settings : null;
    } catch (error) {
      if (isOver || error.status === 401) return;
      refill(place, notice("bad", t("setup.loadFailed"), error.message), h("button", { class: "button", type: "button", on: { click: () => load() } }, t("trouble.retry")));
      form.classList.add("is-empty");
      return;
    }
    if (isOver) return;
    form.classList.remove("is-empty");
    let wanted = known.setUp.step;
    if (!offered().includes(wanted)) wanted = beside(wanted, 1) ?? "done";
    show(wanted, { hasMoved: step !== null });
    if (note) toast(note);
  }

  function show(wanted, { hasMoved = true } = {}) {
    step?.end?.();
    name = wanted;
    // As the terminal's screen counts, those that are not asked here too; the last one is no question.
    const asked = known.setUp.steps.filter((each) => each !== "done");
    const number = asked.indexOf(name) + 1;
    element.dataset.step = name;
    words.textContent = name === "done" ? "" : t("setup.progress", { step: number, count: asked.length });
    bar.max = asked.length;
    bar.value = name === "done" ? asked.length : number - 1;
    back.hidden = beside(name, -1) === null;
    title.textContent = t(`setup.${name}.title`);
    lead.textContent = t(`setup.${name}.lead`);
    document.title = `${title.textContent} · ${t("app.name")}`;
    refill(trouble);
    next.setLabel(t("setup.next"));
    const isOptional = STEPS[name].isOptional === true;
    skip.hidden = !isOptional;
    later.hidden = !isOptional || !known.settings;
    step = STEPS[name].build({ known, typed: typedIn(name), setNext: (label) => next.setLabel(label), changed: () => refill(trouble), finished });
    refill(place, step.element);
    if (!hasMoved) return;
    window.scrollTo(0, 0);
    announce(words.textContent);
    title.focus({ preventScroll: true });
  }

  /** Nothing of this step is left to be put off. */
  function finished() { skip.hidden = true; }

  function typing(event) {
    step?.fields?.find((field) => field.control === event.target)?.setError?.(null);
    refill(trouble);
    step?.typing?.(event);
    const values = {};
    for (const field of step?.fields ?? []) if (field.control.type !== "password") values[field.name] = field.control.type === "checkbox" ? field.control.checked : field.value;
    sessionStorage.setItem(TYPED, JSON.stringify({ step: name, values }));
  }

  /** Stores where the set-up stands and shows that step. */
  async function move(wanted, answers = {}) {
    known.setUp = await api.saveSetUp({ version: known.setUp.version, step: wanted, ...(known.setUp.state === "open" ? {} : { state: "open" }), ...answers });
    isUncertain = false;
    // From now on charges can be taken.
    if (known.settings && !state.session.setUp) update({ session: await api.session() });
    if (isOver) return;
    sessionStorage.removeItem(TYPED);
    show(wanted);
  }

  async function attempt(work) {
    refill(trouble);
    try {
      await work();
    } catch (error) {
      if (isOver || error.status === 401) return;
      if (["set_up_changed", "settings_changed"].includes(error.code)) {
        await load(isUncertain ? null : t("setup.elsewhere"));
        isUncertain = false;
        return;
      }
      isUncertain ||= error instanceof api.NoAnswer;
      const fields = (step.fields ?? []).filter((field) => field.setError);
      const count = error instanceof api.Refused ? showFieldErrors(fields, error) : 0;
      const stray = Object.keys(error.fields ?? {}).filter((each) => !fields.some((field) => field.name === each));
      const owner = stray.length > 0 ? offered().find((each) => STEPS[each].names?.includes(stray[0])) : null;
      refill(
        trouble,
        owner ? notice("bad", t("setup.gateway.earlier", { name: t(`setup.${owner}.title`) }), error.fields[stray[0]].message)
          : count > 0 ? notice("bad", t("settings.problems", { count }), t("setup.notSaved"))
            : notice("bad", error.message, error instanceof api.NoAnswer ? t("setup.nothingLost") : error.action),
        owner ? h("button", { class: "button", type: "button", on: { click: () => attempt(() => move(owner)) } }, t("setup.gateway.showEarlier")) : null,
      );
      trouble.scrollIntoView({ block: "nearest" });
    }
  }

  /** Sends this step and goes to the next. */
  async function goOn() {
    await attempt(async () => {
      for (const field of step.fields ?? []) field.setError?.(null);
      const answers = await step.submit?.();
      if (answers === false) return;
      if (name === "done") {
        await finish("done");
        return;
      }
      const { left } = step;
      await move(beside(name, 1) ?? "done", answers ?? {});
      await left?.();
    });
  }

  async function finish(as) {
    await api.saveSetUp({ version: known.setUp.version, state: as });
    sessionStorage.removeItem(TYPED);
    update({ session: await api.session() });
    onCharging();
  }

  back.addEventListener("click", () => attempt(() => move(beside(name, -1))));
  skip.addEventListener("click", () => attempt(() => move(beside(name, 1) ?? "done")));
  later.addEventListener("click", () => attempt(() => finish("later")));
  // A link to another page brought the owner here; after the set-up it would lead away half way through.
  if (location.hash !== "#/setup") history.replaceState(null, "", "#/setup");
  load();
  return {
    element,
    update() { step?.update?.(state); },
    end() { isOver = true; step?.end?.(); },
  };
}

/** What this terminal does not have. */
function absent(error) {
  if (error.status === 404) return null;
  throw error;
}
