// How near a phone must be, found out with a phone in the hand: once where it should be accepted, once where not.

import * as api from "../api.js";
import { announce, h, refill } from "../dom.js";
import { busyButton, notice } from "../form.js";
import { t } from "../strings.js";

const LOOK_MILLISECONDS = 400;
const PLACES = ["inside", "outside"];
/** The range of signal strengths that the meter shows, dBm. */
const WEAKEST = -100;
const STRONGEST = -20;

/** `mode()` is the way that is chosen; `onKept` gets the settings as they are once a measurement is in force. */
export function calibration({ mode, onKept }) {
  const trouble = h("div", { class: "measure-trouble", role: "alert" });
  const live = h("div", { class: "measure-live" });
  const results = h("dl", { class: "facts measure-results" });
  const buttons = Object.fromEntries(PLACES.map((place) => [place, busyButton({
    label: t(`phones.measure.${place}`), busyLabel: t("phones.measure.starting"), className: "button wide", type: "button",
  })]));
  const keep = busyButton({ label: "", busyLabel: t("settings.saving"), className: "button primary wide", type: "button" });
  const stop = h("button", { class: "button wide", type: "button" }, t("phones.measure.stop"));
  const element = h(
    "div", { class: "measure" }, h("p", { class: "quiet" }, t("phones.measure.lead")),
    h("div", { class: "pair" }, PLACES.map((place) => buttons[place].element)), live, stop, trouble, results, keep.element,
  );
  const meter = h("meter", { class: "measure-meter", min: WEAKEST, max: STRONGEST, "aria-label": t("phones.measure.signal") });
  const signal = h("strong", { class: "measure-signal" });
  const heard = h("p", { class: "quiet" });
  const progress = h("progress", { class: "measure-progress", "aria-label": t("phones.measure.progress") });
  let state = null;
  let timer = null;
  let shown = "";

  function paint(now) {
    const ended = state?.measuring && !now.measuring ? state.measuring : null;
    state = now;
    const isMeasuring = now.measuring !== null;
    for (const place of PLACES) buttons[place].element.hidden = isMeasuring;
    stop.hidden = !isMeasuring;
    live.hidden = !isMeasuring;
    if (isMeasuring) paintLive(now);
    else refill(live);
    const has = (now.inside || now.outside) && now.mode === mode();
    results.hidden = !has || isMeasuring;
    if (!results.hidden) refill(results, PLACES.filter((place) => now[place]).map((place) => h(
      "div", {}, h("dt", {}, t(`phones.measure.${place}Result`)),
      h("dd", {}, t("phones.measure.range", { weakest: now[place].weakest, strongest: now[place].strongest, median: now[place].median })),
    )));
    keep.element.hidden = isMeasuring || now.threshold === null || now.mode !== mode();
    if (!keep.element.hidden) keep.setLabel(t("phones.measure.keep", { limit: now.threshold }));
    const said = now.problem ?? now.remark;
    const words = said ? JSON.stringify(said) : "";
    if (words !== shown) {
      shown = words;
      refill(trouble, said ? notice(now.problem ? "bad" : "plain", said.message, said.action) : null);
    }
    if (ended && !now.problem) announce(t(`phones.measure.${ended}Done`));
  }

  function paintLive(now) {
    if (!live.firstChild) refill(live, h("p", { class: "measure-where" }, t(`phones.measure.${now.measuring}Now`)), h("div", { class: "measure-now" }, meter, signal), progress, heard);
    meter.value = now.signal ?? WEAKEST;
    signal.textContent = now.signal === null ? t("phones.measure.silent") : t("phones.measure.dBm", { value: now.signal });
    progress.max = now.samplesNeeded;
    progress.value = Math.min(now.samples, now.samplesNeeded);
    heard.textContent = now.phones > 1
      ? t("phones.measure.several", { count: now.phones })
      : t("phones.measure.heard", { samples: now.samples, needed: now.samplesNeeded });
  }

  async function look({ isFirst = false } = {}) {
    clearTimeout(timer);
    try {
      const now = await api.calibration();
      // What hindered a measurement earlier, before this page was opened, may be over.
      paint(isFirst && !now.measuring && !now.inside ? { ...now, problem: null } : now);
    } catch (error) {
      if (error.status === 401) return;
      refill(trouble, notice("bad", error.message, error.action));
    }
    // The terminal ends it by itself where this page is left.
    if (state?.measuring && element.isConnected) timer = setTimeout(look, LOOK_MILLISECONDS);
  }

  async function call(work) {
    refill(trouble);
    shown = "";
    try {
      return await work();
    } catch (error) {
      if (error.status !== 401) refill(trouble, notice("bad", error.message, error.action));
      return null;
    }
  }

  for (const place of PLACES) {
    buttons[place].element.addEventListener("click", () => buttons[place].during(async () => {
      if (await call(() => api.calibrate(place, mode()))) await look();
      if (state?.measuring) stop.focus();
    }));
  }
  stop.addEventListener("click", async () => {
    clearTimeout(timer);
    const now = await call(() => api.stopCalibration());
    if (!now) return;
    paint(now);
    buttons.inside.element.focus();
  });
  keep.element.addEventListener("click", () => keep.during(async () => {
    const saved = await call(() => api.keepCalibration());
    if (!saved) return;
    const kept = state.mode;
    await look();
    onKept(saved, kept);
  }));

  paint({ measuring: null, mode: null, inside: null, outside: null, threshold: null, problem: null });
  look({ isFirst: true });
  return { element, /** Another way was chosen: what was measured for one is not for the other. */ update() { paint(state); } };
}
