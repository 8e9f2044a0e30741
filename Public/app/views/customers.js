// Customers' own page: whether there is one, how their phones get there, and which wallets it offers to open.

import * as api from "../api.js";
import { freshID, h, refill } from "../dom.js";
import { busyButton, checkField, notice, secretField, showFieldErrors, textField } from "../form.js";
import { icon } from "../icons.js";
import { t } from "../strings.js";
import { settingsPage } from "./settings-page.js";

const MOST_WALLETS = 24;

/** The page. */
export function customersView() { return settingsPage("customers", { read: api.customers, build }); }

const PLAIN = { autocapitalize: "none", spellcheck: "false" };

function makeFields(saved) {
  const check = (name) => checkField(name, { label: t(`customers.${name}`), help: t(`customers.${name}Help`), checked: saved[name] === true });
  return {
    enabled: check("enabled"),
    onScreen: check("onScreen"),
    address: textField("address", {
      label: t("customers.address"), value: saved.address, attributes: { ...PLAIN, inputmode: "url" },
      help: saved.ownAddress ? t("customers.addressHelp", { address: saved.ownAddress }) : t("customers.addressMissing"),
    }),
    password: secretField("password", { label: t("settings.password"), help: t("customers.passwordHelp"), autocomplete: "current-password" }),
  };
}

/** A wallet's picture: it comes with a request of a program, not from a keyboard, and can be taken away here. */
function pictureField(saved, onChange) {
  let kept = saved ?? "";
  const error = h("p", { class: "field-error", id: freshID("picture-error"), hidden: true });
  const button = h("button", { class: "button", type: "button" }, t("customers.removePicture"));
  const element = h("div", { class: "field wallet-picture", hidden: kept === "" },
    h("div", { class: "wallet-picture-line" }, kept ? h("img", { src: kept, alt: "", width: 40, height: 40 }) : null, button), error);
  button.addEventListener("click", () => {
    kept = "";
    element.hidden = true;
    onChange();
  });
  return {
    name: "icon",
    element,
    control: button,
    get value() { return kept; },
    setError(message) {
      error.hidden = !message;
      refill(error, message ? [icon("alert"), h("span", {}, message)] : null);
      if (message) button.setAttribute("aria-describedby", error.id);
      else button.removeAttribute("aria-describedby");
    },
  };
}

/** One wallet's fields. */
function walletRow(saved, onRemove, onChange) {
  const text = (name, attributes = PLAIN) => textField(name, {
    label: t(`customers.wallet.${name}`), help: t(`customers.wallet.${name}Help`), value: saved[name] ?? "", attributes,
  });
  const fields = {
    name: text("name", {}), native: text("native"), universal: text("universal", { ...PLAIN, inputmode: "url" }),
    paymentLinks: checkField("paymentLinks", {
      label: t("customers.wallet.paymentLinks"), help: t("customers.wallet.paymentLinksHelp"), checked: saved.paymentLinks === true,
    }),
    icon: pictureField(saved.icon, onChange),
  };
  const legend = h("legend", {}, saved.name || t("customers.newWallet"));
  const element = h(
    "fieldset", { class: "card wallet-row" }, legend,
    fields.name.element, h("div", { class: "pair" }, fields.native.element, fields.universal.element), fields.paymentLinks.element, fields.icon.element,
    h("button", { class: "button remove", type: "button", on: { click: () => onRemove(row) } }, t("customers.remove"), h("span", { class: "heard" }, ` ${saved.name ?? ""}`)),
  );
  const row = {
    element,
    fields,
    get value() {
      return {
        name: fields.name.value.trim(), native: fields.native.value.trim(), universal: fields.universal.value.trim(),
        paymentLinks: fields.paymentLinks.checked, icon: fields.icon.value,
      };
    },
  };
  return row;
}

function build(place, saved, onSaved) {
  const fields = makeFields(saved);
  const trouble = h("div", { class: "trouble", role: "alert" });
  const save = busyButton({ label: t("settings.save"), busyLabel: t("settings.saving") });
  const rest = h("div", { class: "settings-form" });
  const list = h("div", { class: "settings-form wallet-rows" });
  const add = h("button", { class: "button wide", type: "button" }, t("customers.add"));
  const supplied = h("button", { class: "button wide", type: "button" });
  const about = h("p", { class: "quiet", role: "status" });
  let rows = [];
  let before = "";
  let wantsSupplied = false;

  function remove(row) {
    rows = rows.filter((other) => other !== row);
    row.element.remove();
    sift();
    add.focus();
  }
  function show(wallets) {
    rows = wallets.map((wallet) => walletRow(wallet, remove, sift));
    refill(list, rows.map((row) => row.element));
    before = JSON.stringify(rows.map((row) => row.value));
  }
  /** Whether customers would be led elsewhere, for which the terminal wants the owner's password. */
  const leadsElsewhere = () => fields.enabled.checked && (wantsSupplied
    || fields.onScreen.checked !== (saved.onScreen === true) || fields.onScreen.checked && saved.enabled !== true
    || fields.address.value.trim().replace(/\/$/, "") !== (saved.address ?? "") || JSON.stringify(rows.map((row) => row.value)) !== before);
  const sift = () => {
    rest.hidden = !fields.enabled.checked;
    fields.password.element.hidden = !leadsElsewhere();
    add.hidden = wantsSupplied || rows.length >= MOST_WALLETS;
    supplied.hidden = saved.suppliedWallets === true;
    list.hidden = wantsSupplied;
    const said = t(wantsSupplied ? "customers.walletsBack" : saved.suppliedWallets ? "customers.walletsSupplied" : "customers.walletsOwn");
    if (about.textContent !== said) about.textContent = said;
    supplied.textContent = t(wantsSupplied ? "customers.keepOwn" : "customers.useSupplied");
  };
  add.addEventListener("click", () => {
    const row = walletRow({}, remove, sift);
    rows.push(row);
    list.append(row.element);
    sift();
    row.fields.name.control.focus();
  });

  async function send(body) {
    refill(trouble);
    try {
      await api.saveCustomers({ ...body, version: saved.version });
      await onSaved();
    } catch (error) {
      if (error.status === 401) return;
      // The terminal names the fields of a wallet by its place in the list.
      rows.forEach((row, index) => Object.entries(row.fields).forEach(([name, field]) => { field.name = `wallets.${index}.${name}`; }));
      if (error.fields?.password) fields.password.element.hidden = false;
      const named = [...Object.values(fields), ...rows.flatMap((row) => Object.values(row.fields))].filter((field) => field.setError);
      const count = error instanceof api.Refused ? showFieldErrors(named, error) : 0;
      refill(
        trouble,
        count > 0 ? notice("bad", t("settings.problems", { count }), t("settings.nothingSaved")) : notice("bad", error.message, error.action),
      );
      if (count === 0) trouble.scrollIntoView({ block: "center" });
    }
  }
  supplied.addEventListener("click", () => {
    wantsSupplied = !wantsSupplied;
    sift();
  });

  function submit() {
    const wallets = rows.map((row) => row.value);
    const isOn = fields.enabled.checked;
    return send({
      enabled: isOn,
      ...(leadsElsewhere() ? { password: fields.password.value } : {}),
      ...(isOn ? { onScreen: fields.onScreen.checked, address: fields.address.value.trim() } : {}),
      ...(isOn && wantsSupplied ? { suppliedWallets: true } : {}),
      // What was not touched stays the list that came with the terminal, and is renewed with it.
      ...(isOn && !wantsSupplied && JSON.stringify(wallets) !== before ? { wallets } : {}),
    });
  }

  show(saved.wallets);
  rest.append(
    h("fieldset", { class: "card" }, h("legend", {}, t("customers.way")), fields.onScreen.element, fields.address.element),
    h("h2", {}, t("customers.wallets")),
    about, list, add, supplied, fields.password.element,
  );
  const form = h(
    "form", { class: "settings-form", novalidate: true, on: {
      submit: (event) => { event.preventDefault(); save.during(submit); },
      input: (event) => {
        [...Object.values(fields), ...rows.flatMap((row) => Object.values(row.fields))].find((field) => field.control === event.target)?.setError?.(null);
        if (!form.querySelector("[aria-invalid]")) refill(trouble);
        sift();
      },
    } },
    h("fieldset", { class: "card" }, fields.enabled.element),
    rest,
    h("div", { class: "settings-end" }, trouble, save.element),
  );
  sift();
  refill(place, form);
}
