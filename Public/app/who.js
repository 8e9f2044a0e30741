// People as words and discs: who did something, who is signed in, on what.

import { momentText } from "./charge-words.js";
import { h } from "./dom.js";
import { hasWords, t } from "./strings.js";

/** One or two letters for a disc. */
export function initials(name) {
  const words = name.trim().split(/\s+/);
  const first = (text) => [...text][0] ?? "";
  return (first(words[0]) + (words.length > 1 ? first(words.at(-1)) : "")).toLocaleUpperCase();
}

/** `staff:Ada` as the terminal writes it, in words. */
export function whoText(who) {
  if (who === "staff:owner") return t("roles.owner");
  const [kind, ...name] = who.split(":");
  const key = `detail.who.${kind}`;
  return name.join(":") || (hasWords(key) ? t(key) : kind);
}

/** "Changed by … on …", or nothing where the terminal does not know. */
export function changedLine({ changedAt, changedBy }) {
  if (!changedAt) return null;
  const words = changedBy ? t("staff.changedBy", { who: whoText(changedBy), time: momentText(changedAt) }) : t("settings.changedAt", { time: momentText(changedAt) });
  return h("p", { class: "quiet small changed-line" }, words);
}

/** "Chrome on Android", in words. */
export function deviceText({ browser, system }) {
  if (browser && system) return t("security.deviceOn", { browser, system });
  return browser ?? system ?? t("security.deviceUnknown");
}
