// People as words and discs: who did something, who is signed in, on what.

import { personText } from "./charge-words.js";
import { h } from "./dom.js";
import { momentText } from "./shop-time.js";
import { t } from "./strings.js";

/** One or two letters for a disc. */
export function initials(name) {
  const words = name.trim().split(/\s+/);
  const first = (text) => [...text][0] ?? "";
  return (first(words[0]) + (words.length > 1 ? first(words.at(-1)) : "")).toLocaleUpperCase();
}

/** "Changed by … on …", or nothing where the terminal does not know. */
export function changedLine({ changedAt, changedBy }) {
  if (!changedAt) return null;
  const words = changedBy ? t("staff.changedBy", { who: personText(changedBy), time: momentText(changedAt) }) : t("settings.changedAt", { time: momentText(changedAt) });
  return h("p", { class: "quiet small changed-line" }, words);
}

/** "Chrome on Android", in words. */
export function deviceText({ browser, system }) {
  if (browser && system) return t("security.deviceOn", { browser, system });
  return browser ?? system ?? t("security.deviceUnknown");
}
