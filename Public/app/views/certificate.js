// The certificate that the page is served with: which it is, and the owner's own.

import * as api from "../api.js";
import { h, refill } from "../dom.js";
import { busyButton, notice, secretField, showFieldErrors, textField } from "../form.js";
import { momentText } from "../shop-time.js";
import { t } from "../strings.js";
import { settingsPage } from "./settings-page.js";

/** The page. */
export function certificateView() { return settingsPage("certificate", { read: api.certificate, build }); }

/** One certificate in a few lines. `title` says whether it is served now or from the next start on. */
function facts(title, { isOwn, issuer, names, endsAt, fingerprint }) {
  return h(
    "div", { class: "card", "data-own": String(isOwn) },
    h("h2", {}, title),
    h("p", {}, isOwn ? t("certificate.own", { issuer }) : t("certificate.device")),
    names.length > 0 ? h("p", {}, t("certificate.names", { names: names.join(", ") })) : null,
    h("p", {}, t("certificate.ends", { day: momentText(endsAt) })),
    h("p", { class: "quiet small" }, t("certificate.fingerprint")),
    h("p", { class: "fingerprint", dir: "ltr" }, h("code", {}, fingerprint)),
  );
}

function build(place, saved, onSaved) {
  const file = (name, accept) => textField(name, { label: t(`certificate.${name}`), help: t(`certificate.${name}Help`), attributes: { type: "file", accept } });
  const chain = file("chain", ".pem,.crt,.cer,application/x-pem-file");
  const key = file("key", ".pem,.key,application/x-pem-file");
  const password = secretField("password", { label: t("settings.password"), autocomplete: "current-password" });
  const fields = [chain, key, password];
  const trouble = h("div", { class: "trouble", role: "alert" });
  const save = busyButton({ label: t("certificate.save"), busyLabel: t("settings.saving") });
  const remove = busyButton({ label: t("certificate.remove"), busyLabel: t("settings.saving"), className: "button", type: "button" });
  const text = async ({ control }) => (control.files?.[0] ? await control.files[0].text() : "");
  const clear = () => {
    for (const field of fields) field.setError(null);
    refill(trouble);
  };

  async function change(work, note) {
    clear();
    try {
      await work();
      onSaved(note);
    } catch (error) {
      if (error.status === 401) return;
      const count = error instanceof api.Refused ? showFieldErrors(fields, error) : 0;
      if (count === 0) refill(trouble, notice("bad", error.message, error.action));
    }
  }
  remove.element.addEventListener("click", () => remove.during(() => change(() => api.removeCertificate({ password: password.value }), t("certificate.removed"))));
  const hasOwn = (saved.next ?? saved.served).isOwn || saved.problem;
  const form = h(
    "form", { class: "settings-form", novalidate: true, on: {
      submit: (event) => {
        event.preventDefault();
        save.during(() => change(async () => api.saveCertificate({ chain: await text(chain), key: await text(key), password: password.value }), t("certificate.saved")));
      },
      input: clear,
    } },
    saved.problem ? notice("bad", saved.problem.message, saved.problem.action) : null,
    facts(t("certificate.now"), saved.served),
    saved.next ? [notice("plain", t("certificate.nextStart"), t("certificate.nextStartHelp")), facts(t("certificate.next"), saved.next)] : null,
    h("fieldset", { class: "card" }, h("legend", {}, t("certificate.legend")), h("p", { class: "quiet" }, t("certificate.formHelp")), fields.map((field) => field.element)),
    h("div", { class: "settings-end" }, trouble, save.element, hasOwn ? remove.element : null),
  );
  refill(place, form);
  return {};
}
