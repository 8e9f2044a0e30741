// Says under the field of a name, while it is typed, which of its letters the terminal's screen cannot draw.

import * as api from "./api.js";
import { h } from "./dom.js";
import { t } from "./strings.js";

const PAUSE_MILLISECONDS = 400;

/** Watches a field for as long as it is on the page. */
export function watchName(field) {
  const note = h("p", { class: "field-help name-missing", role: "status", hidden: true });
  field.element.append(note);
  let timer = null;
  let asked = 0;

  async function look() {
    asked += 1;
    const mine = asked;
    const name = field.value.trim();
    let missing = "";
    try {
      if (name !== "") ({ missing } = await api.checkName(name));
    } catch {
      // Whether it can be drawn is not known; it can be saved all the same.
    }
    if (mine !== asked) return;
    note.hidden = missing === "";
    note.textContent = missing === "" ? "" : t("settings.nameMissing", { letters: missing });
  }

  field.control.addEventListener("input", () => {
    clearTimeout(timer);
    timer = setTimeout(() => (field.control.isConnected ? look() : null), PAUSE_MILLISECONDS);
  });
}
