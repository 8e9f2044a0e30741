// How a charge reads and looks, the same on every page and the same as on the terminal's screen.

import { h } from "./dom.js";
import { icon } from "./icons.js";
import { hasWords, t } from "./strings.js";

/** Colour name (style/tokens.css) and icon of each state. */
const LOOKS = {
  created: { tone: "calm", icon: "wallet" },
  requiresAction: { tone: "calm", icon: "wallet" },
  processing: { tone: "processing", icon: "arrows" },
  succeeded: { tone: "paid", icon: "check" },
  promised: { tone: "promised", icon: "clock" },
  givenBack: { tone: "cancelled", icon: "arrows" },
  failed: { tone: "failed", icon: "cross" },
  refused: { tone: "refused", icon: "ban" },
  expired: { tone: "expired", icon: "clock" },
  cancelled: { tone: "cancelled", icon: "bar" },
  unknown: { tone: "unknown", icon: "question" },
};

/** Who can have confirmed a payment. */
export const AUTHORITIES = ["gateway", "acquirer"];

const FINAL = new Set(["succeeded", "failed", "expired", "cancelled"]);

/** True where an answer about the charge could not be recorded: whatever its state says, whether it is paid is not known yet. */
export function isUnrecorded(charge) { return charge.unresolved === true && charge.reason?.values?.case === "charge"; }

/** True where the authority has given its last word, and the terminal has recorded it. */
export function isFinal(charge) { return FINAL.has(charge.state) && !isUnrecorded(charge); }

/** The state's name for words and looks. A state this page has never heard of is not known, and is shown so. */
function known(charge) {
  if (isUnrecorded(charge)) return "unknown";
  if (charge.state === "processing" && charge.promised) return "promised";
  if (charge.state === "succeeded" && charge.givenBack) return "givenBack";
  if (charge.state === "failed" && charge.refused) return "refused";
  return Object.hasOwn(LOOKS, charge.state) ? charge.state : "unknown";
}

/** `{ tone, icon, title, word, what, todo }` of a charge: its state, what that means for the money, what to do. */
export function look(charge) {
  const name = known(charge);
  const words = name === "succeeded" && charge.late ? "late" : name;
  return {
    ...LOOKS[name],
    title: t(`state.${words}.title`),
    word: t(`state.${words}.word`),
    what: charge.reason?.message ?? (words === "succeeded" && AUTHORITIES.includes(charge.confirmedBy) ? t(`state.confirmedBy.${charge.confirmedBy}`) : t(`state.${words}.what`)),
    todo: charge.reason?.action ?? (words === "unknown" ? t("state.unknown.todo") : ""),
  };
}

/** The state as icon and word. */
export function stateBadge(charge) {
  const { tone, icon: name, word } = look(charge);
  return h("span", { class: "state-badge" }, h("span", { class: `disc tone-${tone}` }, icon(name)), h("span", { class: "state-word" }, word));
}

/** Who did something, as the terminal names them: `staff:Ada` is Ada, `till:7` the till 7, `gateway` the gateway. */
export function personText(who) {
  if (who === "staff:owner") return t("roles.owner");
  const [kind, ...name] = who.split(":");
  const key = `detail.who.${kind}`;
  if (name.length > 0) return kind === "till" ? t("detail.till", { name: name.join(":") }) : name.join(":");
  return hasWords(key) ? t(key) : kind;
}

/** Seconds as `M:SS`; negative counts as 0. */
export function clockText(seconds) {
  const whole = Math.max(0, Math.floor(seconds));
  return `${Math.floor(whole / 60)}:${String(whole % 60).padStart(2, "0")}`;
}
