// Receipts: their printer, what stands on them, and a slip to try it with.

import * as api from "../api.js";
import { h, refill } from "../dom.js";
import { busyButton, checkField, choiceField, linesField, notice, showFieldErrors, textField, toast } from "../form.js";
import { momentText } from "../shop-time.js";
import { t } from "../strings.js";
import { settingsPage } from "./settings-page.js";

const COLUMNS = ["32", "42", "48"];
const CODE_PAGES = ["pc858", "wpc1252", "pc850", "pc852", "pc866", "pc437"];
const PLAIN = { autocapitalize: "none", spellcheck: "false" };

/** The page. */
export function receiptsView() { return settingsPage("receipts", { read: api.receipts, build }); }

function makeFields(saved) {
  const words = (name) => ({ label: t(`receipts.${name}`), help: t(`receipts.${name}Help`) });
  const check = (name) => checkField(name, { ...words(name), checked: saved[name] === true });
  const choice = (name, keys, prefix) => choiceField(name, {
    ...words(name), value: String(saved[name]), groups: [[null, keys.map((key) => [key, t(`receipts.${prefix}.${key}`)])]],
  });
  return {
    printer: textField("printer", { ...words("printer"), value: saved.printer, attributes: { ...PLAIN, inputmode: "url" } }),
    columns: choice("columns", COLUMNS, "columnsOf"),
    codePage: choice("codePage", CODE_PAGES, "codePages"),
    automatic: check("automatic"),
    cut: check("cut"),
    drawer: check("drawer"),
    code: check("code"),
    logo: check("logo"),
    terminal: textField("terminal", { ...words("terminal"), value: saved.terminal }),
    header: linesField("header", { ...words("header"), lines: saved.header }),
    footer: linesField("footer", { ...words("footer"), lines: saved.footer }),
  };
}

/** How the last job went, in words. */
function lastJob(last) {
  if (!last) return null;
  const words = last.trouble ? `${last.trouble.message} ${last.trouble.action}` : t(`receipts.outcomes.${last.outcome}`);
  return t("receipts.last", { time: momentText(last.at), words });
}

function build(place, saved, onSaved) {
  const fields = makeFields(saved);
  const trouble = h("div", { class: "trouble", role: "alert" });
  const save = busyButton({ label: t("settings.save"), busyLabel: t("settings.saving") });
  const test = busyButton({ label: t("receipts.test"), busyLabel: t("receipts.testing"), className: "button wide", type: "button" });
  const testTrouble = h("div", { class: "trouble", role: "alert" });
  const last = h("p", { class: "quiet small" });
  const stand = (now) => {
    last.textContent = lastJob(now.last) ?? "";
    last.hidden = !now.last;
    test.element.hidden = !now.printer;
  };

  test.element.addEventListener("click", () => test.during(async () => {
    refill(testTrouble);
    try {
      const { outcome } = await api.testPrint();
      toast(t(`receipts.outcomes.${outcome}`));
    } catch (error) {
      if (error.status !== 401) refill(testTrouble, notice("bad", error.message, error.action));
    }
  }));

  async function submit() {
    refill(trouble);
    try {
      await api.saveReceipts({
        printer: fields.printer.value.trim(), columns: Number(fields.columns.value), codePage: fields.codePage.value,
        automatic: fields.automatic.checked, cut: fields.cut.checked, drawer: fields.drawer.checked, code: fields.code.checked, logo: fields.logo.checked,
        terminal: fields.terminal.value.trim(), header: fields.header.lines, footer: fields.footer.lines, version: saved.version,
      });
      await onSaved();
    } catch (error) {
      if (error.status === 401) return;
      const named = Object.values(fields).filter((field) => field.setError);
      const count = error instanceof api.Refused ? showFieldErrors(named, error) : 0;
      refill(
        trouble,
        count > 0 ? notice("bad", t("settings.problems", { count }), t("settings.nothingSaved")) : notice("bad", error.message, error.action),
      );
      if (count === 0) trouble.scrollIntoView({ block: "center" });
    }
  }

  const form = h(
    "form", { class: "settings-form", novalidate: true, on: {
      submit: (event) => { event.preventDefault(); save.during(submit); },
      input: (event) => {
        Object.values(fields).find((field) => field.control === event.target)?.setError?.(null);
        if (!form.querySelector("[aria-invalid]")) refill(trouble);
      },
    } },
    h(
      "fieldset", { class: "card" }, h("legend", {}, t("receipts.printing")), fields.printer.element,
      h("div", { class: "pair" }, fields.columns.element, fields.codePage.element),
      fields.automatic.element, fields.cut.element, fields.drawer.element, fields.code.element, fields.logo.element,
      last, testTrouble, test.element,
    ),
    h("fieldset", { class: "card" }, h("legend", {}, t("receipts.content")), fields.terminal.element, fields.header.element, fields.footer.element),
    h("div", { class: "settings-end" }, trouble, save.element),
  );
  stand(saved);
  refill(place, form);
  return { stand };
}
