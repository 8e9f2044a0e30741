// Which Wi-Fi the terminal is in. Names of networks come from strangers: they are only ever text.

import * as api from "../api.js";
import { ask } from "../dialog.js";
import { h, refill } from "../dom.js";
import { busyButton, notice, secretField, textField, toast } from "../form.js";
import { icon } from "../icons.js";
import { t } from "../strings.js";

const PAUSE_MILLISECONDS = 3_000;
const BARS = 4;

/** The page. */
export function networkView() {
  const place = h("div", {}, h("p", { class: "quiet", role: "status" }, t("history.loading")));
  const element = h(
    "section", { class: "page settings network", "aria-labelledby": "network-title" },
    h("a", { class: "back-link", href: "#/settings" }, icon("left"), t("settings.title")),
    h("h1", { id: "network-title", tabindex: "-1" }, t("network.title")),
    h("p", { class: "lead" }, t("network.lead")),
    place,
  );
  const standing = h("div", { class: "network-standing", role: "status" });
  const trouble = h("div", { class: "trouble", role: "alert" });
  const list = h("div", {});
  const kept = h("div", {});
  const hidden = hiddenForm(join);
  const look = busyButton({ label: t("network.look"), busyLabel: t("network.looking"), className: "button", type: "button" });
  look.element.addEventListener("click", () => look.during(() => act(api.scanNetworks)));
  const parts = [
    standing, trouble, h("p", { class: "quiet" }, t("network.otherAddress")),
    h("div", { class: "network-head" }, h("h2", {}, t("network.around")), look.element), list, hidden, kept,
  ];
  let isBuilt = false;
  let last = {};
  let shown = {};

  /** Shows how it stands. What has not changed stays as it is, with the keyboard in it. */
  function show(now) {
    last = now;
    if (now.state !== "ready") {
      isBuilt = false;
      refill(place, notice("plain", now.reason.message, now.reason.action));
      return;
    }
    if (!isBuilt) {
      refill(place, parts);
      shown = {};
    }
    isBuilt = true;
    renew("standing", standing, [now.link, now.network, now.addresses, now.pages, now.attempt, now.chargeOpen], () => stands(now, leave));
    renew("list", list, now.networks, () => around(now.networks, choose));
    renew("kept", kept, now.known, () => known(now.known, forget));
  }

  /** Fills `part` anew where `facts` are others than those shown, and puts the keyboard back to where it was. */
  function renew(name, part, facts, make) {
    const text = JSON.stringify(facts);
    if (shown[name] === text) return;
    shown[name] = text;
    const key = part.contains(document.activeElement) ? document.activeElement.dataset.key : null;
    refill(part, make());
    if (key) part.querySelector(`[data-key="${key}"]`)?.focus({ preventScroll: true });
  }

  /** Does it and shows how it stands then; what was refused is said. True where it was done. */
  async function act(body) {
    refill(trouble);
    try {
      show(await body());
      return true;
    } catch (error) {
      if (error.status !== 401) refill(trouble, notice("bad", error.message, error.action ?? ""));
      return false;
    }
  }

  async function choose(network) {
    const field = network.security === "passphrase" ? passphraseField(network.known) : null;
    const yes = await ask({
      title: t("network.joinTitle", { name: network.name }), text: t(field ? "network.otherAddress" : "network.openText"), yes: t("network.join"), no: t("network.notNow"),
      extra: field?.element, check: () => !field || (network.known && field.value === "") || fits(field),
    });
    if (yes) await join({ network: network.id, ...(field?.value ? { passphrase: field.value } : {}) });
  }

  async function join(body) { return await act(() => api.joinNetwork(body)); }

  async function leave() {
    const yes = await ask({ title: t("network.leaveTitle"), text: t("network.leaveText"), yes: t("network.leave"), no: t("network.stay"), isGrave: true });
    if (yes) await act(api.leaveNetwork);
  }

  async function forget({ id, name }) {
    const isJoined = last.link === "joined" && last.network?.id === id;
    const yes = await ask({ title: t("network.forgetTitle", { name }), text: t(isJoined ? "network.forgetJoined" : "network.forgetText"), yes: t("network.forget"), no: t("network.keep"), isGrave: true });
    if (yes && await act(() => api.forgetNetwork(id))) toast(t("network.forgotten", { name }));
  }

  async function load() {
    try {
      show(await api.network());
    } catch (error) {
      if (error.status === 401) return;
      if (!isBuilt) {
        refill(place, notice("bad", t("settings.loadFailed"), error.message), h("button", { class: "button", type: "button", on: { click: () => load() } }, t("trouble.retry")));
      } else if (last.attempt?.stage === "joining") {
        // Silence while the network changes: the terminal is in the other one, or back soon.
        renew("standing", standing, "moved", () => moved(last));
      }
    }
  }

  async function begin() {
    await load();
    // What was heard a while ago may be gone. An open charge keeps the radio to itself, which is no trouble here.
    if (isBuilt && !last.chargeOpen) await api.scanNetworks().then(show).catch(() => {});
  }
  begin();
  const timer = setInterval(() => { if (!document.hidden) load(); }, PAUSE_MILLISECONDS);
  return { element, update() {}, end() { clearInterval(timer); } };
}

/** The network that it is in, what its address is, and what became of the last joining. */
function stands({ link, network, addresses, pages, attempt, chargeOpen }, leave) {
  const name = network ? h("bdi", {}, network.name) : t("network.unknownName");
  return [
    link === "joining" || attempt?.stage === "joining"
      ? notice("plain", t("network.joining", { name: attempt?.name ?? network?.name ?? "" }), t("network.joiningHelp"))
      : attempt?.stage === "failed" ? notice("bad", t("network.failed", { name: attempt.name }), `${attempt.reason.message} ${attempt.reason.action}`) : null,
    link === "joined"
      ? h(
        "div", { class: "card" },
        h("p", { class: "strong" }, t("network.joined"), " ", name),
        h("dl", { class: "facts" }, [
          [t("network.address"), addresses.length > 0 ? addresses.map((address) => h("bdi", { dir: "ltr" }, address, " ")) : t("network.noAddress")],
          [t("network.page"), pages.map((page) => h("a", { href: page, dir: "ltr", class: "network-page" }, page))],
        ].map(([title, value]) => h("div", {}, h("dt", {}, title), h("dd", {}, value)))),
        h("button", { class: "button", type: "button", "data-key": "leave", on: { click: leave } }, t("network.leave")),
      )
      : link === "none" ? h("p", { class: "card quiet" }, t("network.none")) : null,
    chargeOpen && link !== "none" ? notice("plain", t("network.chargeOpen")) : null,
  ];
}

/** What is said while nothing is heard of the terminal. */
function moved({ attempt, pages }) {
  return [
    notice("plain", t("network.moved", { name: attempt.name }), t("network.movedHelp")),
    h("ul", { class: "network-pages" }, pages.map((page) => h("li", {}, h("a", { href: page, dir: "ltr", class: "network-page" }, page)))),
  ];
}

function around(networks, choose) {
  if (networks.length === 0) return h("p", { class: "card quiet" }, t("network.nothing"));
  return h("ul", { class: "staff-list card", "aria-label": t("network.around") }, networks.map((network) => h(
    "li", { class: "staff-row network-row" },
    bars(network.bars),
    h(
      "div", { class: "staff-words" }, h("bdi", { class: "person-name" }, network.name),
      h("span", { class: "quiet small" }, [
        network.joined ? t("network.isJoined") : network.known ? t("network.isKnown") : null, t(`network.security.${network.security}`), t(`network.bars.b${network.bars}`),
      ].filter(Boolean).join(" · ")),
    ),
    network.joined ? null : network.supported ? h(
      "button", { class: "button", type: "button", "data-key": network.id, on: { click: () => choose(network) } }, t("network.join"), h("span", { class: "heard" }, ` ${network.name}`),
    ) : h("span", { class: "quiet small" }, t("network.unsupported")),
  )));
}

/** Networks that the terminal joins by itself where it hears them. */
function known(networks, forget) {
  if (networks.length === 0) return null;
  return [
    h("h2", {}, t("network.known")),
    h("ul", { class: "staff-list card", "aria-label": t("network.known") }, networks.map((network) => h(
      "li", { class: "staff-row network-row" },
      h("div", { class: "staff-words" }, h("bdi", { class: "person-name" }, network.name), h("span", { class: "quiet small" }, [t(network.heard ? "network.isHeard" : "network.notHeard"), network.hidden ? t("network.isHidden") : null].filter(Boolean).join(" · "))),
      h("button", { class: "button", type: "button", "data-key": network.id, on: { click: () => forget(network) } }, t("network.forget"), h("span", { class: "heard" }, ` ${network.name}`)),
    ))),
  ];
}

/** The strength of a signal as a picture. Words beside it say the same. */
function bars(count) {
  return h("span", { class: "signal", "aria-hidden": "true" }, Array.from({ length: BARS }, (_, place) => h("span", { "data-on": place < count })));
}

function passphraseField(isKnown = false) {
  return secretField("passphrase", { label: t("network.passphrase"), help: t(isKnown ? "network.passphraseKnown" : "network.passphraseHelp"), autocomplete: "off", attributes: { maxlength: 63 } });
}

/** Whether a passphrase could be one; says what it lacks. */
function fits(field) {
  const isFit = /^[\x20-\x7e]{8,63}$/.test(field.value);
  field.setError(isFit ? null : t("network.passphraseUnfit"));
  return isFit;
}

/** For a network that does not say its name. */
function hiddenForm(join) {
  const name = textField("name", { label: t("network.name"), help: t("network.nameHelp"), attributes: { maxlength: 32, autocapitalize: "none", spellcheck: "false" } });
  const passphrase = passphraseField();
  const button = busyButton({ label: t("network.join"), busyLabel: t("network.beginning"), className: "button" });
  const fields = [name, passphrase];
  return h(
    "details", { class: "card network-hidden" }, h("summary", {}, t("network.hidden")),
    h(
      "form", { class: "settings-form", novalidate: true, on: {
        submit: (event) => {
          event.preventDefault();
          button.during(async () => {
            if (name.value === "") return name.setError(t("network.nameMissing"));
            if (passphrase.value !== "" && !fits(passphrase)) return;
            if (await join({ name: name.value, ...(passphrase.value ? { passphrase: passphrase.value } : {}) })) passphrase.value = "";
          });
        },
        input: () => { for (const field of fields) field.setError(null); },
      } },
      name.element, passphrase.element, button.element,
    ),
  );
}
