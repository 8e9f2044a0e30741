import { h, refill } from "../dom.js";
import { notice, toast } from "../form.js";
import { icon } from "../icons.js";
import { t } from "../strings.js";
import { changedLine } from "../who.js";

/**
 * A page of settings below the first: its frame, loading and loading again after saving, and asking how it stands while it is
 * shown. `name` is that of its texts, `read` asks the terminal, `build(place, saved, onSaved)` fills the page; what it returns
 * may have `stand(saved)`, which shows how things stand and leaves alone what is typed.
 */
export function settingsPage(name, { read, build }) {
  const place = h("div", {}, h("p", { class: "quiet", role: "status" }, t("history.loading")));
  const element = h(
    "section", { class: "page settings", "aria-labelledby": `${name}-title` },
    h("a", { class: "back-link", href: "#/settings" }, icon("left"), t("settings.title")),
    h("h1", { id: `${name}-title`, tabindex: "-1" }, t(`${name}.title`)),
    h("p", { class: "lead" }, t(`${name}.lead`)),
    place,
  );

  let built = null;
  async function load(note = null) {
    try {
      const saved = (await read()) ?? {};
      built = build(place, saved, (note = t(`${name}.saved`)) => load(note));
      place.append(changedLine(saved) ?? "");
      if (note) {
        toast(note);
        // How it stands now is said at the top.
        element.querySelector("h1").focus({ preventScroll: true });
        window.scrollTo(0, 0);
      }
    } catch (error) {
      refill(
        place, notice("bad", t("settings.loadFailed"), error.message),
        h("button", { class: "button", type: "button", on: { click: () => load() } }, t("trouble.retry")),
      );
    }
  }
  load();

  let isAsking = false;
  async function ask() {
    if (!built?.stand || isAsking) return;
    isAsking = true;
    try {
      built.stand(await read());
    } catch {
      // The frame says when the terminal cannot be reached; what stands here was true then.
    } finally {
      isAsking = false;
    }
  }
  return { element, update() { ask(); }, end() {} };
}
