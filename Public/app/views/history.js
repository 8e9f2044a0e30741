// The charges there were, newest first, and everything known of one of them.

import * as api from "../api.js";
import { AUTHORITIES, isFinal, look, personText } from "../charge-words.js";
import { ask } from "../dialog.js";
import { announce, h, refill } from "../dom.js";
import { isHeld } from "../following.js";
import { busyButton, notice } from "../form.js";
import { historyFilters } from "../history-filters.js";
import { icon } from "../icons.js";
import { may } from "../may.js";
import { chargeAddress, chargeRow } from "../recent.js";
import { dayText, momentText } from "../shop-time.js";
import { state } from "../store.js";
import { hasWords, t } from "../strings.js";
import { receiptPart } from "./receipt-part.js";
import { refundPart } from "./refund-part.js";

const PAGE = 25;
/** Answers that found nothing and go on: each looks through thousands of charges. */
const MOST_EMPTY_ANSWERS = 200;

/** The history page; `id` names the charge to show beside (or, on a phone, instead of) the list. */
export function historyView({ id }) {
  let chosen = id;
  let charges = [];
  let next = null;
  let asked = 0;
  let isLoading = false;
  let hasEnded = false;
  let detail = null;
  let lastEvent = "";

  const list = h("div", { class: "list" });
  const more = h("button", { class: "button wide", type: "button", hidden: true, on: { click: () => loadOlder() } }, t("history.more"));
  const trouble = h("div", { class: "trouble", role: "alert" });
  const filters = historyFilters({ onChange: startOver });
  // Whoever comes to the end of the list gets the next part without asking.
  const watcher = new IntersectionObserver((entries) => { if (entries.some((entry) => entry.isIntersecting)) loadOlder(); }, { rootMargin: "200px" });
  watcher.observe(more);
  const beside = h("div", { class: "detail-place" });
  const element = h(
    "div", { class: "history-page" },
    h("section", { class: "history-list", "aria-labelledby": "history-title" }, h("h1", { id: "history-title", tabindex: "-1" }, t("history.title")),
      h("div", { class: "history-links" }, may("totals") ? h("a", { class: "text-link", href: "#/totals" }, t("totals.link")) : null, h("a", { class: "text-link", href: "#/shifts" }, t("totals.shifts")), may("days") ? h("a", { class: "text-link", href: "#/days" }, t("days.link")) : null),
      filters.element, trouble, list, more),
    beside,
  );

  function startOver() {
    charges = [];
    next = null;
    load();
  }

  function loadOlder() { if (next && !isLoading && !hasEnded) load({ older: true }); }

  async function load({ older = false, quietly = false } = {}) {
    asked += 1;
    const mine = asked;
    isLoading = true;
    refill(trouble);
    if (!older && !quietly) refill(list, h("p", { class: "quiet", role: "status" }, t("history.loading")));
    try {
      const page = await fetchPage({ before: older ? next : null, isMine: () => mine === asked && !hasEnded });
      if (!page) return;
      if (older) {
        const focusOn = charges.length;
        const wasOnButton = document.activeElement === more;
        charges = [...charges, ...page.charges];
        next = page.next;
        paint();
        if (wasOnButton) list.querySelectorAll("a.row")[focusOn]?.focus();
      } else if (quietly && charges.length > page.charges.length) {
        const fresh = new Set(page.charges.map((charge) => charge.id));
        charges = [...page.charges, ...charges.filter((charge) => !fresh.has(charge.id))];
        paint();
      } else {
        ({ charges, next } = page);
        paint();
      }
    } catch (error) {
      if (mine !== asked || error.status === 401) return;
      if (!older && !quietly) refill(list);
      refill(
        trouble, notice("bad", t("history.failed"), error.fields ? Object.values(error.fields)[0]?.action ?? error.message : error.message),
        h("button", { class: "button", type: "button", on: { click: () => load({ older }) } }, t("trouble.retry")),
      );
    } finally {
      if (mine === asked) isLoading = false;
    }
  }

  /** A page of charges; an answer looks at a bounded number of them, so one without any may be followed by more. */
  async function fetchPage({ before, isMine }) {
    let from = before;
    for (let count = 0; ; count += 1) {
      const page = await api.charges({ limit: PAGE, before: from, ...filters.query });
      if (!isMine()) return null;
      if (page.charges.length > 0 || !page.next || count === MOST_EMPTY_ANSWERS) return page;
      from = page.next;
      if (!before) refill(list, h("p", { class: "quiet", role: "status" }, t("history.looking")));
    }
  }

  function paint() {
    more.hidden = !next;
    // Where the end of the list is in sight still, the watcher says so again.
    watcher.unobserve(more);
    watcher.observe(more);
    if (charges.length === 0) {
      refill(list, h("div", { class: "empty" }, h("p", {}, t(filters.isEmpty ? "history.empty" : "history.emptyFilter")), filters.isEmpty ? h("p", { class: "quiet" }, t("history.emptyHint")) : null));
      return;
    }
    const days = new Map();
    for (const charge of charges) {
      const day = dayText(charge.createdAt);
      days.set(day, [...(days.get(day) ?? []), charge]);
    }
    const focused = document.activeElement?.closest?.("a.row")?.getAttribute("href");
    refill(list, [...days].map(([day, group]) =>
      h("section", { class: "day" }, h("h2", {}, day), h("div", { class: "rows" }, group.map((charge) => chargeRow(charge, { isCurrent: charge.id === chosen }))))));
    if (focused) list.querySelector(`a.row[href="${CSS.escape(focused)}"]`)?.focus();
  }

  function open(newID) {
    chosen = newID;
    element.dataset.showing = chosen ? "detail" : "list";
    detail = chosen ? detailView(chosen, { onChanged: () => load({ quietly: true }) }) : null;
    refill(beside, detail ? detail.element : h("p", { class: "quiet choose-hint" }, t("history.choose")));
    for (const row of list.querySelectorAll("a.row")) {
      if (chosen && row.getAttribute("href") === chargeAddress({ id: chosen })) row.setAttribute("aria-current", "true");
      else row.removeAttribute("aria-current");
    }
    document.title = `${t("nav.history")} · ${t("app.name")}`;
  }

  open(id);
  load();
  return {
    element,
    /** Another charge of the same list, without losing the place in it. */
    go(newID) {
      open(newID);
      if (newID) element.querySelector(".detail h1, .detail")?.focus();
      else list.querySelector("a.row")?.focus({ preventScroll: true });
    },
    update() {
      const charge = state.terminal?.charge;
      const event = `${state.terminal?.phase} ${charge?.id} ${charge?.state} ${state.recent?.[0]?.id} ${state.recent?.[0]?.state}`;
      if (lastEvent && event !== lastEvent) {
        load({ quietly: true });
        detail?.refresh();
      }
      lastEvent = event;
    },
    end() {
      hasEnded = true;
      watcher.disconnect();
    },
  };
}

/** Everything known of one charge; `onChanged` hears that this view has changed it. */
function detailView(id, { onChanged }) {
  const place = h("div", {}, h("p", { class: "quiet", role: "status" }, t("history.loading")));
  const element = h(
    "article", { class: "detail", tabindex: "-1", "aria-labelledby": "detail-title" },
    h("a", { class: "back", href: "#/history" }, icon("left"), t("history.back")),
    place,
  );
  let shown = "";

  async function refresh() {
    try {
      const charge = await api.charge(id);
      const now = JSON.stringify(charge);
      if (now === shown) return;
      shown = now;
      refill(place, contents(charge), refundPart(charge, { onChanged: changed }), receiptPart(charge), giveBack(charge));
    } catch (error) {
      if (error.status === 401 || shown) return;
      refill(place, notice("bad", error.message, error.action), h("button", { class: "button", type: "button", on: { click: refresh } }, t("trouble.retry")));
    }
  }
  async function changed() {
    await refresh();
    onChanged();
  }

  /** A button for money that the terminal can give back by itself; null where it cannot. */
  function giveBack(charge) {
    if (!charge.canGiveBack || !may("giveBack")) return null;
    const trouble = h("div", { class: "trouble", role: "alert" });
    const button = busyButton({ label: t("detail.giveBack", { amount: charge.amountText }), busyLabel: t("detail.givingBack"), className: "button wide", type: "button" });
    button.element.addEventListener("click", async () => {
      const yes = await ask({
        title: t("detail.giveBackTitle", { amount: charge.amountText }), text: t("detail.giveBackText"),
        yes: t("detail.giveBackYes"), no: t("detail.giveBackNo"), isGrave: true,
      });
      if (!yes) return;
      await button.during(async () => {
        refill(trouble);
        try {
          await api.takeBack(charge.id);
          await refresh();
          onChanged();
        } catch (error) {
          if (error.status !== 401) refill(trouble, notice("bad", error.message, error.action));
        }
      });
    });
    return h("div", { class: "give-back" }, trouble, button.element);
  }
  refresh();
  return { element, refresh };
}

function contents(charge) {
  const { tone, icon: picture, word, what, todo } = look(charge);
  const held = isHeld(charge);
  return [
    h(
      "div", { class: `detail-head tone-${tone}` },
      h("div", { class: "panel-disc" }, icon(picture)),
      h("div", {}, h("h1", { id: "detail-title", tabindex: "-1" }, word), h("p", { class: "detail-amount" }, charge.amountText)),
    ),
    what || todo
      ? h("section", { class: "card detail-reason", "aria-label": t("detail.meaning") }, what ? h("p", { class: "strong" }, what) : null, todo ? h("p", {}, todo) : null)
      : null,
    !isFinal(charge) && held ? h("a", { class: "button primary wide", href: "#/charge" }, t("detail.toCharge")) : null,
    h(
      "section", { class: "card" }, h("h2", {}, t("detail.facts")),
      h(
        "dl", { class: "facts" },
        fact(t("detail.opened"), momentText(charge.createdAt)),
        charge.deadline ? fact(t("detail.deadline"), momentText(charge.deadline)) : null,
        fact(t("detail.code"), charge.code),
        charge.reference ? fact(t("detail.reference"), charge.reference, { isCopied: true }) : null,
        charge.tipText ? fact(t("detail.tip"), charge.tipText) : null,
        charge.note ? fact(t("detail.note"), charge.note) : null,
        charge.openedBy ? fact(t("detail.by"), personText(charge.openedBy)) : null,
        fact(t("detail.merchant"), charge.merchantName),
        fact(t("detail.id"), charge.id, { isCopied: true, isCode: true }),
      ),
    ),
    charge.evidence || !isFinal(charge)
      ? h(
        "section", { class: "card" }, h("h2", {}, t("detail.evidence")),
        charge.evidence ? h("dl", { class: "facts" }, confirmedBy(charge), evidence(charge.evidence)) : h("p", { class: "quiet" }, t("detail.noEvidence")),
      )
      : null,
    charge.timeline?.length
      ? h("section", { class: "card" }, h("h2", {}, t("detail.timeline")), h("ol", { class: "timeline" }, charge.timeline.map(happened)))
      : null,
  ];
}

/** One entry of the timeline. */
function happened({ at, who, text, message }) {
  return h("li", {}, h("p", {}, message ?? text), h("p", { class: "quiet small" }, `${momentText(at)} · ${personText(who)}`));
}

/** Who says that it was paid. */
function confirmedBy({ confirmedBy: who }) {
  return AUTHORITIES.includes(who) ? fact(t("detail.confirmedBy"), t(`detail.authorities.${who}`)) : null;
}

function evidence(facts) {
  return Object.entries(facts)
    .filter(([, value]) => ["string", "number"].includes(typeof value) && value !== "")
    .map(([name, value]) => {
      const key = `detail.evidenceNames.${name}`;
      const words = hasWords(key) ? t(key) : name;
      if (/At$/.test(name) && typeof value === "string" && !Number.isNaN(Date.parse(value))) return fact(words, momentText(value));
      const isCode = /ID$|account|hash/i.test(name);
      return fact(words, String(value), { isCode, isCopied: isCode });
    });
}

function fact(name, value, { isCopied = false, isCode = false } = {}) {
  const copy = isCopied && navigator.clipboard
    ? h("button", {
      class: "copy", type: "button", "aria-label": t("detail.copy", { name }),
      on: { click: (event) => copyText(value, event.currentTarget) },
    }, icon("copy"))
    : null;
  return h("div", {}, h("dt", {}, name), h("dd", { class: isCode ? "code" : null }, h("bdi", {}, value), copy));
}

export async function copyText(text, button) {
  try {
    await navigator.clipboard.writeText(text);
  } catch {
    return;
  }
  refill(button, icon("check"));
  announce(t("detail.copied"));
  setTimeout(() => refill(button, icon("copy")), 1_500);
}
