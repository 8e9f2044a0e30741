// Asks whoever is signed in for the password or the PIN once more: what they are about to do lasts longer than their sign-in.

import * as api from "../api.js";
import { ask } from "../dialog.js";
import { h, refill } from "../dom.js";
import { notice, secretField } from "../form.js";
import { state } from "../store.js";
import { t } from "../strings.js";

/** The session with its new token once it was shown; null where nobody did. */
export async function askForProof() {
  const isOwner = state.session?.role === "owner";
  const field = secretField(isOwner ? "password" : "pin", {
    label: t(isOwner ? "password.label" : "proof.pin"), autocomplete: isOwner ? "current-password" : "off",
  });
  const trouble = h("div", { class: "trouble", role: "alert" });
  const extra = h(
    "div", { class: "stack" }, trouble,
    isOwner ? h("input", { type: "text", name: "username", value: "owner", autocomplete: "username", hidden: true }) : null,
    field.element,
  );
  for (;;) {
    const isSent = await ask({
      title: t("proof.title"), text: t("proof.text"), yes: t("proof.yes"), no: t("proof.no"), extra,
      check: () => {
        field.setError(field.value ? null : t("proof.missing"));
        return field.value !== "";
      },
    });
    const secret = field.value;
    field.value = "";
    if (!isSent) return null;
    try {
      return await api.prove(isOwner ? { password: secret } : { pin: secret });
    } catch (error) {
      if (error.status === 401) return null;
      field.setError(error.fields?.[field.name]?.message ?? null);
      refill(trouble, error.fields?.[field.name] ? null : notice("bad", error.message, error.action));
    }
  }
}
