// Where this terminal's page is, by name and by number.

import * as api from "../api.js";
import { h, refill } from "../dom.js";
import { t } from "../strings.js";

/** Shown once the terminal has said it; left out while it does not. */
export function addressPart() {
  const element = h("section", { class: "card address-part", hidden: true, "aria-labelledby": "address-title" });
  async function load() {
    let addresses = [];
    try {
      addresses = (await api.health()).addresses;
    } catch {
      // The page is here all the same; Health says what is wrong.
    }
    if (addresses.length === 0) return;
    refill(
      element, h("h2", { id: "address-title" }, t("settings.addresses")),
      h("ul", { class: "address-list" }, addresses.map((address) => h("li", {}, h("bdi", { dir: "ltr" }, address)))),
      addresses.some((address) => URL.canParse(address) && new URL(address).hostname.endsWith(".local")) ? h("p", { class: "quiet small" }, t("settings.addressesHelp")) : null,
    );
    element.hidden = false;
  }
  load();
  return { element };
}
