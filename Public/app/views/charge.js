// The charge page: the keypad, or the charge that is running or was the last; on a wide page with the last charges
// beside it.

import { h, refill } from "../dom.js";
import { chargeRow } from "../recent.js";
import { state } from "../store.js";
import { t } from "../strings.js";
import { chargePanel } from "./charge-panel.js";
import { keypadView } from "./keypad.js";

export function chargeView() {
  const stage = h("div", { class: "stage" });
  const rows = h("div", { class: "rows" });
  const side = h(
    "aside", { class: "side", "aria-labelledby": "side-title" },
    h("h2", { id: "side-title" }, t("history.last")), rows, h("a", { class: "button", href: "#/history" }, t("history.all")),
  );
  const element = h("div", { class: "charge-page" }, stage, side);
  let part = null;
  let partName = null;
  let shownRecent;

  function update() {
    const name = state.followed ? "panel" : "keypad";
    if (name !== partName) {
      part?.end();
      const hadPart = partName !== null;
      partName = name;
      part = name === "panel" ? chargePanel() : keypadView();
      refill(stage, part.element);
      part.update();
      if (name === "keypad") document.title = `${t("nav.charge")} · ${t("app.name")}`;
      if (hadPart) part.element.querySelector("h1").focus({ preventScroll: true });
      window.scrollTo(0, 0);
    } else {
      part.update();
    }
    if (state.recent !== shownRecent) {
      shownRecent = state.recent;
      refill(rows, state.recent?.length ? state.recent.map((charge) => chargeRow(charge)) : h("p", { class: "quiet" }, t("history.empty")));
    }
  }

  return { element, update, end() { part?.end(); } };
}
