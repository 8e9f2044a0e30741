// The outbox: whether the terminal copies its events into the operator's own database, and how far that is.

import * as api from "../api.js";
import { h, refill } from "../dom.js";
import { busyButton, checkField, linesField, notice, secretField, showFieldErrors, textField } from "../form.js";
import { momentText } from "../shop-time.js";
import { state } from "../store.js";
import { t } from "../strings.js";
import { settingsPage } from "./settings-page.js";

const PLAIN = { autocapitalize: "none", spellcheck: "false" };
const WEIGHTS = { off: "quiet", new: "quiet", good: "good", failing: "note" };

const PAUSE_MILLISECONDS = 5_000;

/** The page. */
export function outboxView() {
  const view = settingsPage("outbox", { read: api.outbox, build });
  const timer = setInterval(() => view.update(), PAUSE_MILLISECONDS);
  return {
    ...view,
    end() {
      clearInterval(timer);
      view.end();
    },
  };
}

function makeFields(saved) {
  const text = (name, attributes = {}) => textField(name, { label: t(`outbox.${name}`), help: t(`outbox.${name}Help`), value: saved[name] ?? "", attributes: { ...PLAIN, ...attributes } });
  return {
    enabled: checkField("enabled", { label: t("outbox.enabled"), help: t("outbox.enabledHelp"), checked: saved.enabled === true }),
    host: text("host", { maxlength: 253 }),
    port: text("port", { inputmode: "numeric", maxlength: 5 }),
    database: text("database", { maxlength: 63 }),
    user: text("user", { maxlength: 63 }),
    outboxPassword: secretField("outboxPassword", {
      label: t("outbox.outboxPassword"), help: t(saved.outboxPasswordSet ? "outbox.outboxPasswordSet" : "outbox.outboxPasswordHelp"), autocomplete: "off",
    }),
    authorities: linesField("authorities", { label: t("outbox.authorities"), help: t("outbox.authoritiesHelp"), lines: saved.authorities ?? [], rows: 4 }),
    password: secretField("password", { label: t("settings.password"), help: t("outbox.passwordHelp"), autocomplete: "current-password" }),
  };
}

/** How it stands, in a few lines. */
function standing(saved) {
  const lines = [
    saved.waiting > 0 ? t("outbox.waiting", { count: saved.waiting }) : null,
    saved.oldestAt ? t("outbox.oldest", { time: momentText(saved.oldestAt) }) : null,
    saved.deliveredAt ? t("outbox.delivered", { time: momentText(saved.deliveredAt) }) : null,
    saved.failedAt ? t("outbox.failedAt", { time: momentText(saved.failedAt) }) : null,
    t("outbox.terminal", { name: saved.terminal }),
  ];
  return [
    h("p", { class: `weight-${WEIGHTS[saved.state] ?? "quiet"}`, "data-state": saved.state }, t(`outbox.state_${saved.state}`)),
    saved.reason ? h("p", {}, `${saved.reason.message} ${saved.reason.action}`) : null,
    lines.filter(Boolean).map((line) => h("p", { class: "quiet small" }, line)),
  ];
}

function build(place, saved, onSaved) {
  const isOwner = state.session?.role === "owner";
  const stands = h("div", { class: "card", id: "outbox-standing" }, standing(saved));
  if (!saved.readable) {
    refill(place, notice("bad", t("outbox.unreadable"), t("outbox.unreadableHelp")));
    return {};
  }
  const fields = makeFields(saved);
  const trouble = h("div", { class: "trouble", role: "alert" });
  const tested = h("div", { class: "tested", role: "status" });
  const save = busyButton({ label: t("settings.save"), busyLabel: t("settings.saving") });
  const test = busyButton({ label: t("outbox.test"), busyLabel: t("outbox.testing"), className: "button", type: "button" });
  test.element.addEventListener("click", () => test.during(async () => {
    refill(tested);
    try {
      const answer = await api.testOutbox();
      refill(tested, answer.arrived ? notice("good", t("outbox.arrived")) : notice("bad", answer.reason.message, answer.reason.action));
    } catch (error) {
      if (error.status !== 401) refill(tested, notice("bad", error.message, error.action));
    }
  }));

  async function submit() {
    refill(trouble);
    const port = Number(fields.port.value.trim());
    try {
      await api.saveOutbox({
        enabled: fields.enabled.checked, host: fields.host.value.trim(), port: Number.isInteger(port) ? port : 0, database: fields.database.value.trim(),
        user: fields.user.value.trim(), authorities: fields.authorities.lines, outboxPassword: fields.outboxPassword.value, password: fields.password.value,
        version: saved.version,
      });
      onSaved();
    } catch (error) {
      if (error.status === 401) return;
      const all = Object.values(fields);
      const count = error instanceof api.Refused ? showFieldErrors(all, error) : 0;
      if (count === 0) refill(trouble, notice("bad", error.message, error.action));
    }
  }
  const form = h(
    "form", { class: "settings-form", novalidate: true, on: {
      submit: (event) => { event.preventDefault(); save.during(submit); },
      input: () => { for (const field of Object.values(fields)) field.setError?.(null); refill(trouble); },
    } },
    h("fieldset", { class: "card" }, h("legend", {}, t("outbox.legend")), fields.enabled.element, fields.host.element, h("div", { class: "pair" }, fields.port.element, fields.database.element), fields.user.element, fields.outboxPassword.element, fields.authorities.element),
    h("fieldset", { class: "card" }, fields.password.element),
    h("div", { class: "settings-end" }, trouble, save.element),
  );
  refill(place, stands, isOwner && saved.host ? h("div", { class: "narrow-end" }, tested, test.element) : null, isOwner ? form : null);
  return { stand(now) { refill(stands, standing(now)); } };
}
