// How the terminal is: each part with a light and a sentence, and the facts behind it.

import * as api from "../api.js";
import { h, refill } from "../dom.js";
import { notice } from "../form.js";
import { icon } from "../icons.js";
import { momentText } from "../shop-time.js";
import { state } from "../store.js";
import { hasWords, t } from "../strings.js";

const PAUSE_MILLISECONDS = 15_000;
const PICTURES = { good: "check", note: "alert", bad: "cross", off: "ban" };

/** The page. */
export function healthView() {
  const place = h("div", { class: "health-place" }, h("p", { class: "quiet", role: "status" }, t("history.loading")));
  const isOwner = state.session?.role === "owner";
  const element = h(
    "section", { class: "page settings health", "aria-labelledby": "health-title" },
    h("a", { class: "back-link", href: "#/settings" }, icon("left"), t("settings.title")),
    h("h1", { id: "health-title", tabindex: "-1" }, t("health.title")),
    place,
    isOwner ? [wayOn("logs", t("logs.title"), t("logs.linkHelp")), bundle()] : null,
  );

  let shown = "";
  async function load() {
    try {
      const health = await api.health();
      const now = JSON.stringify(health);
      if (now === shown) return;
      shown = now;
      refill(place, contents(health));
    } catch (error) {
      if (error.status === 401) return;
      shown = "";
      refill(
        place, notice("bad", t("health.failed"), error.message),
        h("button", { class: "button", type: "button", on: { click: load } }, t("trouble.retry")),
      );
    }
  }
  load();
  const timer = setInterval(load, PAUSE_MILLISECONDS);
  return { element, update() {}, end() { clearInterval(timer); } };
}

function wayOn(name, title, help) {
  return h(
    "a", { class: "card way-on", href: `#/${name}` },
    h("span", { class: "way-on-words" }, h("span", { class: "way-on-name" }, title), h("span", { class: "quiet small" }, help)),
    icon("right", "row-arrow"),
  );
}

/** What the support bundle holds, said before it is taken. */
function bundle() {
  return h(
    "section", { class: "card health-bundle", "aria-labelledby": "bundle-title" },
    h("h2", { id: "bundle-title" }, t("health.bundle.title")),
    h("p", {}, t("health.bundle.lead")),
    h("ul", { class: "health-list" }, ["versions", "settings", "health", "log", "audit", "charges"].map((name) => h("li", {}, t(`health.bundle.${name}`)))),
    h("p", { class: "quiet" }, t("health.bundle.not")),
    h("a", { class: "button", href: api.bundleAddress, download: "" }, t("health.bundle.take")),
  );
}

function contents(health) {
  return [
    h("p", { class: `health-whole weight-${health.weight}` }, icon(PICTURES[health.weight] ?? "question"), h("span", {}, t(`health.whole.${health.weight}`))),
    h("ul", { class: "health-checks" }, health.checks.map(check)),
    facts(t("health.facts.radio"), [
      ...health.radio.adapters.map((radio) => [radio.name, [radio.driver, radio.blocked ? t("health.blocked") : null].filter(Boolean).join(", ") || t("health.there")]),
      [t("health.powered"), yesNo(health.radio.powered)],
      [t("health.phoneHeard"), moment(health.radio.phoneHeardAt)],
      [t("health.acquirerHeard"), moment(health.radio.acquirerHeardAt)],
    ]),
    facts(t("health.facts.storage"), [
      [t("health.free"), of(health.storage.freeBytes, health.storage.totalBytes)],
      [t("health.journal"), size(health.storage.journalBytes)],
      ...health.storage.wear.map((wear) => [t("health.wear", { device: wear.device }), wear.usedPercent === null ? null : `${wear.usedPercent} %`]),
    ]),
    facts(t("health.facts.machine"), [
      [t("health.model"), health.machine.model],
      [t("health.uptime"), duration(health.machine.uptimeSeconds)],
      [t("health.started"), moment(health.startedAt)],
      [t("health.memory"), of(health.machine.memoryFreeBytes, health.machine.memoryBytes)],
      [t("health.program"), size(health.machine.programBytes)],
      ...health.machine.temperatures.map((one) => [one.place, `${(one.milliCelsius / 1000).toFixed(1)} °C`]),
      [t("health.slowed"), yesNo(health.machine.slowedDown)],
      [t("health.offset"), health.clock.gatewayAheadMilliseconds === null ? null : t("health.seconds", { count: (-health.clock.gatewayAheadMilliseconds / 1000).toFixed(1) })],
    ]),
    facts(t("health.facts.page"), [
      ...health.addresses.map((address) => [t("health.address"), address]),
      [t("health.fingerprint"), health.certificate.fingerprint],
      [t("health.certificateEnds"), moment(health.certificate.endsAt)],
    ], "health-wide"),
    facts(t("health.facts.versions"), [
      ...Object.entries(health.versions).sort(([one], [other]) => one.localeCompare(other)),
      [t("health.kernel"), health.machine.kernel],
    ]),
  ];
}

function check({ part, weight, message, action }) {
  const key = `health.parts.${part}`;
  return h(
    "li", { class: `health-check weight-${weight}` },
    h("span", { class: "health-light" }, icon(PICTURES[weight] ?? "question"), h("span", { class: "heard" }, t(`health.weights.${weight}`))),
    h("div", {}, h("p", { class: "strong" }, hasWords(key) ? t(key) : part), h("p", {}, message), action ? h("p", { class: "health-action" }, action) : null),
  );
}

/** A list of facts; what the machine does not say is left out. */
function facts(title, rows, className = "") {
  const known = rows.filter(([, value]) => value !== null && value !== undefined && value !== "");
  if (known.length === 0) return null;
  return h(
    "details", { class: `card health-facts ${className}` }, h("summary", {}, title, icon("right")),
    h("dl", { class: "facts" }, known.map(([name, value]) => h("div", {}, h("dt", {}, name), h("dd", {}, String(value))))),
  );
}

function moment(text) { return text ? momentText(text) : null; }

function yesNo(value) { return value === null || value === undefined ? null : t(value ? "health.yes" : "health.no"); }

function of(part, whole) { return part === null || whole === null ? null : t("health.of", { part: size(part), whole: size(whole) }); }

function size(bytes) {
  if (bytes === null || bytes === undefined) return null;
  const units = ["byte", "kilobyte", "megabyte", "gigabyte", "terabyte"];
  let [value, index] = [bytes, 0];
  while (value >= 1000 && index < units.length - 1) [value, index] = [value / 1000, index + 1];
  return new Intl.NumberFormat(state.session?.locale ?? undefined, { style: "unit", unit: units[index], maximumFractionDigits: value < 10 && index > 0 ? 1 : 0 }).format(value);
}

function duration(seconds) {
  if (seconds === null || seconds === undefined) return null;
  const [days, hours, minutes] = [Math.floor(seconds / 86_400), Math.floor(seconds / 3600) % 24, Math.floor(seconds / 60) % 60];
  return t("health.duration", { days, hours, minutes });
}
