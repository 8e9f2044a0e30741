// Views that few open: their code is fetched when they are first shown, so that the charge page is there sooner.

import { h, refill } from "./dom.js";
import { notice } from "./form.js";
import { t } from "./strings.js";

/** What the window hears when somebody signs out: what a view keeps in memory is forgotten then. */
export const SIGNED_OUT = "till-signed-out";

/** Sheets of style/ that were asked for, by name. */
const sheets = new Map();

/** Adds a sheet of style/ for good; resolves when it applies. */
function applySheet(name) {
  if (!sheets.has(name)) {
    const link = h("link", { rel: "stylesheet", href: `/style/${name}.css` });
    sheets.set(name, new Promise((resolve, reject) => {
      link.addEventListener("load", resolve);
      link.addEventListener("error", () => {
        sheets.delete(name);
        link.remove();
        reject(new Error(`no sheet ${name}`));
      });
    }));
    document.head.append(link);
  }
  return sheets.get(name);
}

/**
 * A view of a module that is fetched now, with its sheet where it has one: `fetchCode` imports it, and `make` makes the view of
 * what it exports. Until then its place is held, and where the terminal cannot be reached that is said with a way to try again.
 */
export function lazyView(fetchCode, make, sheet = null) {
  const place = h("section", { class: "page" }, h("p", { class: "quiet", role: "status" }, t("history.loading")));
  const hadFocus = document.activeElement;
  let view = null;
  let isOver = false;

  async function load() {
    try {
      const [module] = await Promise.all([fetchCode(), sheet && applySheet(sheet)]);
      if (isOver) return;
      view = make(module);
    } catch {
      // A module that failed once is not asked for again by some browsers: the whole page is.
      const again = h("button", { class: "button", type: "button", on: { click: () => location.reload() } }, t("trouble.retry"));
      refill(place, notice("bad", t("app.unreachable"), t("app.unreachableDetail")), again);
      return;
    }
    const isElsewhere = document.activeElement !== hadFocus && document.activeElement !== document.body;
    place.replaceWith(view.element);
    view.update();
    if (!isElsewhere) view.element.querySelector("h1")?.focus({ preventScroll: true });
  }
  load();
  return { element: place, update() { view?.update(); }, go(id) { view?.go?.(id); }, end() { isOver = true; view?.end?.(); } };
}
