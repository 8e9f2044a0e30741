// The frame around every page of a signed-in terminal: name, gateway light, ways to go, and the word when the
// connection is lost.

import { markSeen, refuseReset } from "./api.js";
import { announce, h, refill } from "./dom.js";
import { toast } from "./form.js";
import { icon, mark } from "./icons.js";
import { lookButton } from "./look.js";
import { chargeAddress, lastCharge, lastChargeStrip } from "./recent.js";
import { timeText } from "./shop-time.js";
import { state } from "./store.js";
import { t } from "./strings.js";
import { messageLine } from "./views/till-message.js";

/** The owner sets the terminal; everybody else has a page of their own instead. */
const PLACES = [
  { name: "charge", icon: "keypad" },
  { name: "history", icon: "history" },
  { name: "settings", icon: "sliders", isOwners: true },
  { name: "me", icon: "person", isOwners: false },
];

/** More would leave no room for the keypad; the next one comes up when one was seen. */
const NOTICES_SHOWN = 2;

/** A payment that nobody waited for: it stays until somebody says that they have seen it. */
function noticeLine(notice) {
  const seen = h("button", { class: "notice-link", type: "button" }, t("notice.seen"));
  seen.addEventListener("click", async () => {
    seen.disabled = true;
    try {
      await markSeen(notice.id);  // The terminal's next event takes it away.
    } catch (error) {
      seen.disabled = false;
      toast(error.message, { isBad: true });
    }
  });
  const values = { amount: notice.amountText, code: notice.code, time: timeText(notice.at) };
  return h(
    "li", { class: "banner" }, icon("alert"),
    h("span", { class: "grow" }, t(notice.kind === "paidTwice" ? "notice.paidTwice" : "notice.late", values)),
    h("a", { class: "notice-link", href: chargeAddress(notice) }, t("notice.show")), seen,
  );
}

/** Somebody at the terminal asks for a new owner password. Everybody hears it, and the owner can refuse it. */
function resetLine(reset) {
  const isOwner = state.session?.role === "owner";
  const refuse = h("button", { class: "notice-link", type: "button" }, t("reset.refuse"));
  refuse.addEventListener("click", async () => {
    refuse.disabled = true;
    try {
      await refuseReset();  // The terminal's next event takes the line away.
      toast(t("reset.refused"));
    } catch (error) {
      refuse.disabled = false;
      if (error.status !== 401) toast(error.message, { isBad: true });
    }
  });
  return h(
    "li", { class: "banner reset-line" }, icon("alert"),
    h(
      "span", { class: "grow" }, reset.state === "shown" ? t("reset.askedShown") : t("reset.asked", { count: reset.minutes }),
      isOwner ? null : ` ${t("reset.askedStaff")}`,
    ),
    isOwner ? refuse : null,
  );
}

/** The frame of whoever is signed in. `show(view, name)` puts a view in; `update()` follows the state. */
export function makeShell({ onSignOut, onSwitch }) {
  const merchant = h("span", { class: "merchant" });
  const gateway = h("span", { class: "gateway" });
  const banner = h("div", { class: "banner", role: "alert" });
  const notices = h("ul", { class: "notices", "aria-label": t("notice.label"), "aria-live": "polite" });
  const last = h("section", { class: "strip-place", "aria-label": t("history.lastOne"), hidden: true });
  const main = h("main", { id: "main", tabindex: "-1" });
  const isOwner = state.session?.role === "owner";
  const links = PLACES.filter((place) => place.isOwners === undefined || place.isOwners === isOwner).map(({ name, icon: picture }) =>
    h("a", { class: "nav-link", href: `#/${name}`, "data-place": name }, icon(picture), h("span", {}, t(`nav.${name}`))));
  const signOut = h("button", { class: "nav-link sign-out", type: "button", on: { click: onSignOut } }, icon("signOut"), h("span", {}, t("nav.signOut")));
  const skip = h("a", { class: "skip", href: "#main", on: { click: (event) => { event.preventDefault(); main.focus(); } } }, t("app.skip"));
  const person = state.session?.name ?? t("roles.owner");
  // At a counter one tap gives the terminal to the next person; elsewhere the name only says who it is.
  const chip = h(
    "button", { class: "person-chip", type: "button", "aria-label": t("nav.switchFrom", { name: person }), title: t("nav.switch"), on: { click: onSwitch } },
    icon("arrows"), h("span", { class: "chip-name" }, person),
  );
  const header = h(
    "header", { class: "topbar" },
    h("div", { class: "brand" }, mark(), merchant),
    gateway, chip,
    lookButton(),
  );
  const nav = h("nav", { class: "nav", "aria-label": t("nav.label") }, links, signOut);
  const element = h("div", { class: "shell" }, skip, header, nav, h("div", { class: "body" }, banner, notices, last, main));
  let shownGateway = null;
  let wasLost = false;
  let shownNotices = "[[],null,null]";
  let shownLast = null;

  /** "What happened to the last one?" is answered on every page, but where that one stands large already. */
  function showLast() {
    const charge = lastCharge();
    last.hidden = !state.session?.setUp || element.dataset.place === "charge" && charge?.id !== undefined && state.followed?.id === charge.id;
    const now = JSON.stringify(charge ? [charge.id, charge.state, charge.late, charge.promised, charge.givenBack, charge.unresolved, charge.amountText] : [state.recent === null]);
    if (now === shownLast) return;
    shownLast = now;
    const hadFocus = last.contains(document.activeElement);
    refill(last, lastChargeStrip(charge, state.recent));
    if (hadFocus) last.firstElementChild.focus({ preventScroll: true });
  }

  return {
    element,
    main,
    show(view, place) {
      refill(main, view);
      element.dataset.place = place;
      for (const link of links) {
        if (link.dataset.place === place) link.setAttribute("aria-current", "page");
        else link.removeAttribute("aria-current");
      }
    },
    update() {
      const name = state.session?.merchantName || t("app.name");
      if (merchant.textContent !== name) merchant.textContent = name;
      nav.hidden = !state.session?.setUp;
      chip.hidden = state.session?.browser !== "counter" || !state.session.setUp;
      const light = state.terminal?.gateway ?? "unknown";
      if (light !== shownGateway) {
        shownGateway = light;
        gateway.dataset.light = light;
        refill(gateway, h("span", { class: "light" }), h("span", {}, t(`gateway.${["ready", "unreachable", "refused", "clock", "paused"].includes(light) ? light : "unknown"}`)));
      }
      // Without the terminal nobody here knows how the gateway is.
      gateway.hidden = !state.session?.setUp || !state.terminal || state.link === "lost";
      const message = state.terminal?.message ?? null;
      const reset = state.terminal?.ownerReset ?? null;
      const wanted = JSON.stringify([state.terminal?.notices ?? [], message, reset]);
      if (wanted !== shownNotices) {
        shownNotices = wanted;
        const all = state.terminal?.notices ?? [];
        const more = all.length - NOTICES_SHOWN;
        refill(
          notices, reset ? resetLine(reset) : null, all.slice(0, NOTICES_SHOWN).map(noticeLine),
          more > 0 ? h("li", { class: "notices-more" }, h("a", { href: "#/history" }, t("notice.more", { count: more }))) : null,
          message ? messageLine(message) : null,
        );
      }
      showLast();
      const isLost = state.link === "lost";
      if (isLost && !wasLost) refill(banner, icon("plug"), h("span", {}, t("link.lost")));
      if (!isLost && wasLost) {
        refill(banner);
        announce(t("link.back"));
      }
      wasLost = isLost;
    },
  };
}
