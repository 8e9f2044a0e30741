// Webhooks: which servers the terminal tells of charges by itself, and whether its messages arrive.

import * as api from "../api.js";
import { ask } from "../dialog.js";
import { h, refill } from "../dom.js";
import { busyButton, checkField, notice, showFieldErrors, textField, toast } from "../form.js";
import { icon } from "../icons.js";
import { momentText } from "../shop-time.js";
import { state } from "../store.js";
import { hasWords, t } from "../strings.js";

const PAUSE_MILLISECONDS = 5_000;
/** What is chosen at first: how a charge ended, and that nobody knows. */
const USUAL = new Set(["succeeded", "failed", "expired", "cancelled", "unknown"]);
const WEIGHTS = { new: "off", good: "good", failing: "note", off: "bad", paused: "off" };
const PICTURES = { new: "clock", good: "check", failing: "alert", off: "cross", paused: "ban" };

/** The page. */
export function webhooksView() {
  const isOwner = state.session?.role === "owner";
  const place = h("div", {}, h("p", { class: "quiet", role: "status" }, t("history.loading")));
  const element = h(
    "section", { class: "page settings", "aria-labelledby": "webhooks-title" },
    h("a", { class: "back-link", href: "#/settings" }, icon("left"), t("settings.title")),
    h("h1", { id: "webhooks-title", tabindex: "-1" }, t("webhooks.title")),
    h("p", { class: "lead" }, t("webhooks.lead")),
    place,
  );
  const list = h("div", { class: "settings-form token-list webhook-list" });
  const fresh = h("div", { class: "tested", role: "status" });
  let [shown, hasEnded, timer] = ["", false, null];
  /** What the last test of each came to. */
  const tests = new Map();

  function show(answer) {
    const now = JSON.stringify(answer.webhooks);
    if (now === shown) return;
    shown = now;
    // Whoever is at a button stays at it.
    const focused = document.activeElement?.id;
    refill(list, answer.webhooks.length === 0 ? h("p", { class: "quiet" }, t("webhooks.none")) : answer.webhooks.map(card));
    if (focused && list.querySelector(`#${CSS.escape(focused)}`)) list.querySelector(`#${CSS.escape(focused)}`).focus();
  }

  function card(hook) {
    const tested = tests.get(hook.id) ?? h("div", { class: "tested", role: "status" });
    tests.set(hook.id, tested);
    const held = hook.state === "paused" || hook.state === "off";
    const named = h("span", { class: "heard" }, ` ${hook.url}`);
    const test = busyButton({ label: t("webhooks.test"), busyLabel: t("webhooks.testing"), className: "button", type: "button" });
    test.element.id = `test-${hook.id}`;
    test.element.addEventListener("click", () => test.during(() => runTest(hook, tested)));
    return h(
      "section", { class: "card webhook", "data-state": hook.state, "aria-label": hook.url },
      h("p", { class: "webhook-url", translate: "no" }, hook.url),
      h("p", { class: `webhook-state weight-${WEIGHTS[hook.state]}` }, icon(PICTURES[hook.state]), h("span", {}, t(`webhooks.state_${hook.state}`))),
      hook.reason ? h("p", {}, `${hook.reason.message} ${hook.reason.action}`) : null,
      ["failing", "off", "paused"].includes(hook.state) && hook.behind > 0 ? h("p", { class: "quiet" }, t("webhooks.waits")) : null,
      hook.nextTrySeconds !== null && hook.state === "failing" ? h("p", { class: "quiet" }, again(hook.nextTrySeconds)) : null,
      h("p", { class: "quiet" }, hook.events.map(eventName).join(" · ")),
      hook.deliveredAt ? h("p", { class: "quiet small" }, t("webhooks.delivered", { time: momentText(hook.deliveredAt) })) : null,
      hook.failedAt ? h("p", { class: "quiet small" }, t("webhooks.failedAt", { time: momentText(hook.failedAt) })) : null,
      tested,
      isOwner ? h(
        "div", { class: "narrow-end" }, test.element,
        h("button", { class: "button", type: "button", id: `pause-${hook.id}`, on: { click: () => pause(hook, !held) } }, t(held ? "webhooks.resume" : "webhooks.pause"), named),
        h("button", { class: "button", type: "button", id: `delete-${hook.id}`, on: { click: () => remove(hook) } }, t("webhooks.delete"), named.cloneNode(true)),
      ) : null,
    );
  }

  /** How long until the next try, coarsely: it is shown until somebody looks again. */
  function again(seconds) {
    const minutes = Math.ceil(seconds / 60);
    return minutes < 2 ? t("webhooks.againSoon") : t("webhooks.again", { minutes });
  }

  async function runTest(hook, place) {
    refill(place);
    try {
      const answer = await api.testWebhook(hook.id);
      refill(place, answer.arrived ? notice("good", t("webhooks.arrived")) : notice("bad", answer.reason.message, answer.reason.action));
    } catch (error) {
      if (error.status !== 401) refill(place, notice("bad", error.message, error.action));
    }
  }

  async function change(work, said) {
    try {
      show(await work());
      toast(said);
    } catch (error) {
      if (error.status !== 401) toast(error.message, { isBad: true });
    }
  }

  async function pause(hook, isPaused) {
    await change(() => api.pauseWebhook(hook.id, isPaused), t(isPaused ? "webhooks.paused" : "webhooks.resumed"));
  }

  async function remove(hook) {
    const sure = await ask({
      title: t("webhooks.deleteTitle"), text: t("webhooks.deleteText", { url: hook.url }), yes: t("webhooks.delete"), no: t("webhooks.keep"), isGrave: true,
    });
    if (!sure) return;
    tests.delete(hook.id);
    refill(fresh);
    await change(() => api.removeWebhook(hook.id), t("webhooks.deleted"));
  }

  function form(answer) {
    const url = textField("url", {
      label: t("webhooks.url"), help: t("webhooks.urlHelp"), attributes: { inputmode: "url", autocapitalize: "none", spellcheck: "false", autocomplete: "off", maxlength: 300 },
    });
    const events = answer.events.map((name) => checkField(name, { label: eventName(name), help: "", checked: USUAL.has(name) }));
    const make = busyButton({ label: t("webhooks.make"), busyLabel: t("webhooks.making") });
    const trouble = h("div", { class: "trouble", role: "alert" });
    async function submit() {
      refill(trouble);
      try {
        const chosen = events.filter((event) => event.checked).map((event) => event.name);
        const made = await api.makeWebhook({ url: url.value.trim(), events: chosen });
        refill(fresh, notice("good", t("webhooks.once"), t("webhooks.onceHelp")), h("output", { class: "token-text", translate: "no" }, made.secret));
        url.value = "";
        show(await api.webhooks());
        fresh.scrollIntoView({ block: "center" });
      } catch (error) {
        if (error.status === 401) return;
        const count = error instanceof api.Refused ? showFieldErrors([url], error) : 0;
        const isUnchosen = error.fields?.events;
        if (isUnchosen) refill(trouble, notice("bad", t("webhooks.noEvent")));
        else if (count === 0 || !error.fields?.url) refill(trouble, notice("bad", error.message, error.action));
      }
    }
    return h(
      "form", { class: "settings-form", novalidate: true, on: {
        submit: (event) => { event.preventDefault(); make.during(submit); },
        input: () => { url.setError(null); refill(trouble); },
      } },
      h("fieldset", { class: "card" }, h("legend", {}, t("webhooks.new")), url.element),
      h("fieldset", { class: "card webhook-events" }, h("legend", {}, t("webhooks.events")), events.map((event) => event.element)),
      h("div", { class: "settings-end" }, trouble, make.element),
    );
  }

  async function load() {
    try {
      const answer = await api.webhooks();
      if (hasEnded) return;
      if (!answer.readable) return refill(place, notice("bad", t("webhooks.unreadable"), t("webhooks.unreadableHelp")));
      refill(place, h("h2", {}, t("webhooks.list")), list, fresh, isOwner ? form(answer) : null);
      show(answer);
      timer = setInterval(refresh, PAUSE_MILLISECONDS);
    } catch (error) {
      if (hasEnded || error.status === 401) return;
      refill(
        place, notice("bad", t("webhooks.failed"), error.message),
        h("button", { class: "button", type: "button", on: { click: load } }, t("trouble.retry")),
      );
    }
  }

  async function refresh() {
    try {
      const answer = await api.webhooks();
      if (!hasEnded) show(answer);
    } catch {
      // The frame says when the terminal cannot be reached; what stands here was true then.
    }
  }
  load();
  return { element, update() {}, end() { hasEnded = true; clearInterval(timer); } };
}

/** An event in the page's words; one of a newer terminal by its own name. */
function eventName(name) {
  const key = `webhooks.event_${name}`;
  return hasWords(key) ? t(key) : name;
}
