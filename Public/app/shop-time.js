// Times and days as the shop's clock has them, as on receipts and in filters, wherever this browser is. Where the browser's clock reads
// otherwise, the zone stands beside the time.

import { state } from "./store.js";
import { pageLanguage, t } from "./strings.js";

const DAY_MILLISECONDS = 86_400_000;

/** The shop's way of writing where it is that of the page's language; else the page's, with the digits of the rest. */
function locale() {
  const shop = state.session?.locale ?? pageLanguage();
  return `${shop.split("-")[0] === pageLanguage() ? shop : pageLanguage()}-u-nu-latn`;
}

/** To make a formatter takes longer than to use it, and a list has many moments. */
const made = new Map();

/** A formatter; in English for a locale, and in this browser's zone for a zone, that the browser does not know. */
function formatter(options, zone, language = locale()) {
  const key = JSON.stringify([options, zone, language]);
  if (!made.has(key)) made.set(key, newFormatter(options, zone, language));
  return made.get(key);
}

function newFormatter(options, zone, language) {
  for (const [tag, timeZone] of [[language, zone], ["en", zone], [language, undefined]]) {
    try {
      return new Intl.DateTimeFormat(tag, { ...options, timeZone });
    } catch {
      // The next one.
    }
  }
  return new Intl.DateTimeFormat("en", options);
}

/** Whether this browser can tell the time there. */
function isKnown(zone) {
  try {
    return Boolean(new Intl.DateTimeFormat("en", { timeZone: zone }));
  } catch {
    return false;
  }
}

/** The shop's zone; undefined before it is known, which is this browser's. */
function shopZone() { return state.session?.timeZone ?? undefined; }

/** What a clock in `zone` reads, in digits: `2026-11-27 18:05`. */
function reading(date, zone) {
  const options = { year: "numeric", month: "2-digit", day: "2-digit", hour: "2-digit", minute: "2-digit", hourCycle: "h23" };
  const part = Object.fromEntries(formatter(options, zone, "en-u-nu-latn").formatToParts(date).map(({ type, value }) => [type, value]));
  return `${part.year}-${part.month}-${part.day} ${part.hour}:${part.minute}`;
}

function text(options, moment, zone) {
  const date = new Date(moment);
  if (Number.isNaN(date.getTime())) return "";
  const words = formatter(options, zone).format(date);
  if (zone === undefined || isKnown(zone) && reading(date, zone) === reading(date, undefined)) return words;
  // Of a zone that the browser does not know the time is the browser's, and so is the name.
  const name = formatter({ timeZoneName: "short" }, zone).formatToParts(date).find(({ type }) => type === "timeZoneName");
  return `${words}\u00a0${name.value}`;
}

/** Time of day. */
export function timeText(moment) { return text({ hour: "2-digit", minute: "2-digit" }, moment, shopZone()); }

/** Date and time of day, to the second; in the shop's zone where no other is named. */
export function momentText(moment, zone = shopZone()) { return text({ dateStyle: "medium", timeStyle: "medium" }, moment, zone); }

/** The shop's day of a moment, `YYYY-MM-DD`. */
export function shopDay(moment) { return reading(new Date(moment), shopZone()).slice(0, 10); }

/** "Today", "Yesterday", or the date, by the terminal's clock. */
export function dayText(moment) {
  const date = new Date(moment);
  if (Number.isNaN(date.getTime())) return "";
  const today = shopDay(Date.now() + state.clockAhead);
  const day = shopDay(date);
  if (day === today) return t("history.today");
  // Days are counted, and not hours: one of them may have 23.
  if (Date.parse(today) - Date.parse(day) === DAY_MILLISECONDS) return t("history.yesterday");
  return formatter({ weekday: "long", day: "numeric", month: "long", year: "numeric" }, shopZone()).format(date);
}
