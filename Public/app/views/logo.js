// The merchant's logo: chosen, made smaller by the browser, and sent at once. The terminal takes nothing but plain pixels.

import * as api from "../api.js";
import { announce, freshID, h, refill } from "../dom.js";
import { busyButton, notice } from "../form.js";
import { t } from "../strings.js";

/** What fits into this is sent as it is; larger pictures are made smaller. */
const WIDEST = 400;
const HIGHEST = 200;
/** The browser unpacks it: more than a camera makes is no logo. */
const LARGEST_FILE = 12_000_000;
const LONGEST_SIDE = 8_192;

/** The file's picture as a PNG address that fits. Throws `Error` with words for the owner. */
async function smaller(file) {
  if (!["image/png", "image/jpeg"].includes(file.type)) throw new Error(t("logo.kind"));
  if (file.size > LARGEST_FILE) throw new Error(t("logo.tooLarge"));
  let bitmap;
  try {
    bitmap = await createImageBitmap(file);
  } catch {
    throw new Error(t("logo.damaged"));
  }
  try {
    if (Math.max(bitmap.width, bitmap.height) > LONGEST_SIDE) throw new Error(t("logo.tooLarge"));
    const scale = Math.min(1, WIDEST / bitmap.width, HIGHEST / bitmap.height);
    const canvas = document.createElement("canvas");
    canvas.width = Math.max(8, Math.round(bitmap.width * scale));
    canvas.height = Math.max(8, Math.round(bitmap.height * scale));
    const pen = canvas.getContext("2d");
    pen.imageSmoothingQuality = "high";
    pen.drawImage(bitmap, 0, 0, canvas.width, canvas.height);
    return canvas.toDataURL("image/png");
  } finally {
    bitmap.close();
  }
}

/** The logo with its buttons. `changed` is told the address of the one that is shown now, or null. */
export function logoField({ changed = () => {} } = {}) {
  const input = h("input", { id: freshID("logo"), class: "logo-file", type: "file", accept: "image/png,image/jpeg", name: "logo" });
  const picture = h("img", { class: "logo-picture", alt: t("logo.alt"), hidden: true });
  const choose = h("label", { class: "button", for: input.id }, t("logo.choose"));
  const remove = busyButton({ label: t("logo.remove"), busyLabel: t("logo.removing"), className: "button", type: "button" });
  const trouble = h("div", { class: "tested", role: "alert" });
  let version = 0;

  function take(answer) {
    version = answer.version;
    picture.hidden = !answer.image;
    if (answer.image) picture.src = answer.image;
    else picture.removeAttribute("src");
    choose.textContent = t(answer.image ? "logo.another" : "logo.choose");
    remove.element.hidden = !answer.image;
    changed(answer.image);
  }

  async function save(image) {
    refill(trouble);
    try {
      take(await api.saveLogo({ image, version }));
      announce(t(image ? "logo.saved" : "logo.removed"));
    } catch (error) {
      if (error.status === 401) return;
      if (error.code === "settings_changed") take(await api.logo());
      refill(trouble, notice("bad", error.fields?.image?.message ?? error.message, error.action));
    }
  }

  input.addEventListener("change", async () => {
    const [file] = input.files;
    input.value = "";
    if (!file) return;
    try {
      await save(await smaller(file));
    } catch (error) {
      refill(trouble, notice("bad", error.message));
    }
  });
  remove.element.addEventListener("click", () => remove.during(() => save(null)));
  remove.element.hidden = true;
  api.logo().then(take).catch(() => {});
  return {
    element: h(
      "div", { class: "field logo-field" }, h("p", { class: "strong" }, t("logo.label")), h("p", { class: "field-help" }, t("logo.help")),
      picture, h("div", { class: "logo-buttons" }, input, choose, remove.element), trouble,
    ),
  };
}
