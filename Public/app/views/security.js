// The owner's password, and the browsers that are signed in.

import * as api from "../api.js";
import { ask } from "../dialog.js";
import { announce, h, refill } from "../dom.js";
import { busyButton, checkField, notice, secretField } from "../form.js";
import { icon } from "../icons.js";
import { momentText } from "../shop-time.js";
import { t } from "../strings.js";
import { deviceText } from "../who.js";
import { accessCard } from "./access.js";
import { ownSecretForm } from "./own-secret.js";

/** `onChanged` gets the session with its new token after the password was changed. `isNew`: it was just set with a code. */
export function securityView({ onChanged, isNew = false }) {
  const list = sessionList();
  const access = accessCard();
  const element = h(
    "section", { class: "page settings security", "aria-labelledby": "security-title" },
    h("a", { class: "back-link", href: "#/settings" }, icon("left"), t("nav.settings")),
    h("h1", { id: "security-title", tabindex: "-1" }, t("security.title")),
    passwordForm(async (session) => {
      onChanged(session);
      await Promise.all([list.load(), access.load()]);
      access.focus();
    }),
    list.element, access.element,
  );
  list.load();
  access.load().then(() => { if (isNew) access.focus(); });
  return { element, update() {}, end() {} };
}

function passwordForm(onChanged) {
  const current = secretField("currentPassword", { label: t("security.current"), autocomplete: "current-password" });
  const next = secretField("newPassword", {
    label: t("security.new"), help: t("password.help"), autocomplete: "new-password", withStrength: 8,
  });
  const others = checkField("signOutOthers", { label: t("security.signOutOthers"), help: t("security.signOutOthersHelp"), checked: true });
  const button = busyButton({ label: t("security.change"), busyLabel: t("security.changing") });
  current.element.append(h("a", { class: "text-link", href: "#/reset" }, t("login.forgot")));
  return ownSecretForm({
    fields: [current, next], button, onChanged,
    check: () => {
      current.setError(current.value ? null : t("password.missing"));
      next.setError([...next.value].length >= 8 ? null : t("password.tooShortError"));
    },
    change: () => api.changePassword(current.value, next.value, others.checked),
    done: () => t(others.checked ? "security.changedAlone" : "security.changed"),
    parts: (trouble) => h(
      "fieldset", { class: "card" }, h("legend", {}, t("security.password")), trouble,
      // Password keepers file the password under this name.
      h("input", { type: "text", name: "username", value: "owner", autocomplete: "username", hidden: true }),
      current.element, next.element, others.element, button.element,
    ),
  });
}

/** Who is signed in where; `title` says whose they are. */
export function sessionList({ title: words = t("security.everybody") } = {}) {
  const rows = h("ul", { class: "sessions" });
  const title = h("h2", { id: "sessions-title", tabindex: "-1" }, words);
  const trouble = h("div", { class: "trouble", role: "alert" });
  const all = busyButton({ label: t("security.endAll"), busyLabel: t("security.ending"), className: "button wide", type: "button" });
  all.element.hidden = true;

  function show({ sessions }) {
    const ordered = [...sessions].sort((one, other) => Number(other.current) - Number(one.current));
    refill(rows, ordered.map(row));
    all.element.hidden = sessions.length < 2;
  }

  function row(session) {
    const name = session.current ? t("security.thisBrowser") : session.name ?? t(`roles.${session.role}`);
    const button = busyButton({ label: t("security.end"), busyLabel: t("security.ending"), className: "button", type: "button" });
    button.element.setAttribute("aria-label", t("security.endHeard", { time: momentText(session.createdAt) }));
    button.element.addEventListener("click", () => button.during(() => end(() => api.endSession(session.id), "security.ended")));
    return h(
      "li", { class: "session", "data-current": session.current },
      h(
        "div", { class: "session-words" }, h("span", { class: "session-name" }, session.current ? icon("check") : null, name),
        h("span", { class: "small" }, [session.current ? session.name ?? t(`roles.${session.role}`) : null, deviceText(session)].filter(Boolean).join(" · ")),
        h("span", { class: "quiet small" }, t("security.since", { time: momentText(session.createdAt) })),
        h("span", { class: "quiet small" }, t("security.used", { time: momentText(session.usedAt) })),
      ),
      session.current ? null : button.element,
    );
  }

  async function end(work, words) {
    refill(trouble);
    try {
      show(await work());
      announce(t(words));
    } catch (error) {
      if (error.status === 401) return;
      await load();
      if (error.status !== 404) refill(trouble, notice("bad", error.message, error.action));
    }
    // The button that was pressed has gone.
    title.focus();
  }

  async function load() {
    try {
      show(await api.sessions());
      refill(trouble);
    } catch (error) {
      if (error.status === 401) return;
      refill(
        trouble, notice("bad", t("security.loadFailed"), error.message),
        h("button", { class: "button", type: "button", on: { click: load } }, t("trouble.retry")),
      );
    }
  }

  all.element.addEventListener("click", async () => {
    const isSure = await ask({
      title: t("security.endAllTitle"), text: t("security.endAllText"), yes: t("security.endAllYes"), no: t("security.endAllNo"), isGrave: true,
    });
    if (isSure) await all.during(() => end(api.endOtherSessions, "security.endedAll"));
  });
  return {
    element: h("div", { class: "card sessions-card" }, title, h("p", { class: "field-help" }, t("security.sessionsHelp")), trouble, rows, all.element),
    load,
  };
}
