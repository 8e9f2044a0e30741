// One question before something that cannot be taken back.

import { freshID, h } from "./dom.js";

/**
 * Asks; true where the answer is yes. Escape, the backdrop and "no" are no.
 * `extra` stands below the text, such as a field; `check` says whether what is in it will do. `signal` takes the question back.
 */
export function ask({ title, text, yes, no, isGrave = false, extra = null, check = () => true, signal = null }) {
  return new Promise((resolve) => {
    const titleID = freshID("dialog-title");
    const textID = freshID("dialog-text");
    const finish = (answer) => () => { if (answer === "no" || check()) dialog.close(answer); };
    const dialog = h(
      "dialog", { class: "dialog", "aria-labelledby": titleID, "aria-describedby": textID },
      h("h2", { id: titleID }, title),
      h("p", { id: textID }, text),
      extra,
      h(
        "div", { class: "dialog-buttons" },
        h("button", { class: "button", type: "button", autofocus: true, on: { click: finish("no") } }, no),
        h("button", { class: `button ${isGrave ? "grave" : "primary"}`, type: "button", on: { click: finish("yes") } }, yes),
      ),
    );
    dialog.addEventListener("click", (event) => { if (event.target === dialog) dialog.close("no"); });
    dialog.addEventListener("close", () => {
      dialog.remove();
      resolve(dialog.returnValue === "yes");
    });
    extra?.addEventListener("keydown", (event) => {
      if (event.key !== "Enter" || event.target.matches("textarea")) return;
      event.preventDefault();
      // The page behind must not take the same key for its own: it would charge.
      event.stopPropagation();
      finish("yes")();
    });
    signal?.addEventListener("abort", () => dialog.close("no"));
    document.body.append(dialog);
    dialog.showModal();
    extra?.querySelector("input, textarea")?.focus();
  });
}
