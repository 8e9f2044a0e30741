// Tokens: which programs may ask this terminal something. Each is shown once, when it is made.

import * as api from "../api.js";
import { ask } from "../dialog.js";
import { h, refill } from "../dom.js";
import { busyButton, checkField, notice, showFieldErrors, textField, toast } from "../form.js";
import { icon } from "../icons.js";
import { momentText } from "../shop-time.js";
import { t } from "../strings.js";

const SCOPES = ["charges", "ownCharges", "state", "screen", "metrics"];

/** The page. */
export function tokensView() {
  const place = h("div", {}, h("p", { class: "quiet", role: "status" }, t("history.loading")));
  const element = h(
    "section", { class: "page settings", "aria-labelledby": "tokens-title" },
    h("a", { class: "back-link", href: "#/settings" }, icon("left"), t("settings.title")),
    h("h1", { id: "tokens-title", tabindex: "-1" }, t("tokens.title")),
    h("p", { class: "lead" }, t("tokens.lead")),
    place,
  );

  const list = h("div", { class: "settings-form token-list" });
  const fresh = h("div", { class: "tested", role: "status" });

  function show(tokens) {
    refill(list, tokens.length === 0 ? h("p", { class: "quiet" }, t("tokens.none")) : tokens.map((token) => h(
      "fieldset", { class: "card" }, h("legend", {}, token.name),
      h("p", {}, token.scopes.map((scope) => t(`tokens.scope_${scope}`)).join(" · ")),
      h("p", { class: "quiet" }, t("tokens.made", { time: momentText(token.createdAt) })),
      h("p", { class: "quiet" }, token.usedAt ? t("tokens.used", { time: momentText(token.usedAt) }) : t("tokens.unused")),
      h("button", { class: "button", type: "button", on: { click: () => revoke(token) } }, t("tokens.revoke"), h("span", { class: "heard" }, ` ${token.name}`)),
    )));
  }

  async function revoke(token) {
    const isSure = await ask({
      title: t("tokens.revokeTitle", { name: token.name }), text: t("tokens.revokeText"),
      yes: t("tokens.revokeYes"), no: t("tokens.revokeNo"), isGrave: true,
    });
    if (!isSure) return;
    try {
      show((await api.revokeToken(token.id)).tokens);
      refill(fresh);
      toast(t("tokens.revoked", { name: token.name }));
    } catch (error) {
      if (error.status !== 401) toast(error.message, { isBad: true });
    }
  }

  async function load() {
    try {
      const { tokens, readable } = await api.tokens();
      const name = textField("name", { label: t("tokens.name"), help: t("tokens.nameHelp") });
      const scopes = SCOPES.map((scope) => checkField(scope, {
        label: t(`tokens.scope_${scope}`), help: t(`tokens.scope_${scope}Help`), checked: scope === "charges" || scope === "state",
      }));
      const make = busyButton({ label: t("tokens.make"), busyLabel: t("tokens.making") });
      const trouble = h("div", { class: "trouble", role: "alert" });
      const form = h(
        "form", { class: "settings-form", novalidate: true, on: {
          submit: (event) => { event.preventDefault(); make.during(submit); },
          input: () => { name.setError(null); refill(trouble); },
        } },
        h("fieldset", { class: "card" }, h("legend", {}, t("tokens.new")), name.element),
        h("fieldset", { class: "card" }, h("legend", {}, t("tokens.scopes")), scopes.map((scope) => scope.element)),
        h("div", { class: "settings-end" }, trouble, make.element),
      );
      async function submit() {
        refill(trouble);
        try {
          const chosen = scopes.filter((scope) => scope.checked).map((scope) => scope.name);
          const made = await api.makeToken({ name: name.value, scopes: chosen });
          refill(fresh, notice("good", t("tokens.once"), t("tokens.onceHelp")), h("output", { class: "token-text", translate: "no" }, made.token));
          name.value = "";
          show((await api.tokens()).tokens);
          fresh.scrollIntoView({ block: "center" });
        } catch (error) {
          if (error.status === 401) return;
          const count = error instanceof api.Refused ? showFieldErrors([name], error) : 0;
          if (error.fields?.scopes) refill(trouble, notice("bad", t("tokens.noScope")));
          else if (count === 0) refill(trouble, notice("bad", error.message, error.action));
        }
      }
      if (!readable) return refill(place, notice("bad", t("tokens.unreadable"), t("tokens.unreadableHelp")));
      refill(place, form, fresh, h("h2", {}, t("tokens.list")), list);
      show(tokens);
    } catch (error) {
      refill(
        place, notice("bad", t("settings.loadFailed"), error.message),
        h("button", { class: "button", type: "button", on: { click: load } }, t("trouble.retry")),
      );
    }
  }
  load();
  return { element, update() {}, end() {} };
}
