// Customers' own page: whether there is one, how their phones get there, and which wallets it offers to open.

import * as api from "../api.js";
import { h, refill } from "../dom.js";
import { busyButton, checkField, notice, showFieldErrors, textField } from "../form.js";
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
      label: t("customers.address"), help: t("customers.addressHelp", { address: saved.ownAddress }), value: saved.address, attributes: { ...PLAIN, inputmode: "url" },
    }),
  };
}

/** One wallet's fields. Its picture is kept as it is: it comes with a settings file, not from a keyboard. */
function walletRow(saved, onRemove) {
  const text = (name, attributes = PLAIN) => textField(name, {
    label: t(`customers.wallet.${name}`), help: t(`customers.wallet.${name}Help`), value: saved[name] ?? "", attributes,
  });
  const fields = {
    name: text("name", {}), native: text("native"), universal: text("universal", { ...PLAIN, inputmode: "url" }),
    paymentLinks: checkField("paymentLinks", {
      label: t("customers.wallet.paymentLinks"), help: t("customers.wallet.paymentLinksHelp"), checked: saved.paymentLinks === true,
    }),
  };
  const legend = h("legend", {}, saved.name || t("customers.newWallet"));
  const element = h(
    "fieldset", { class: "card wallet-row" }, legend,
    fields.name.element, h("div", { class: "pair" }, fields.native.element, fields.universal.element), fields.paymentLinks.element,
    h("button", { class: "button remove", type: "button", on: { click: () => onRemove(row) } }, t("customers.remove"), h("span", { class: "heard" }, ` ${saved.name ?? ""}`)),
  );
  const row = {
    element,
    fields,
    get value() {
      return {
        name: fields.name.value.trim(), native: fields.native.value.trim(), universal: fields.universal.value.trim(),
        paymentLinks: fields.paymentLinks.checked, icon: saved.icon ?? "",
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
  const supplied = h("button", { class: "button wide", type: "button" }, t("customers.useSupplied"));
  let rows = [];
  let before = "";

  function remove(row) {
    rows = rows.filter((other) => other !== row);
    row.element.remove();
    sift();
    add.focus();
  }
  function show(wallets) {
    rows = wallets.map((wallet) => walletRow(wallet, remove));
    refill(list, rows.map((row) => row.element));
    before = JSON.stringify(rows.map((row) => row.value));
  }
  const sift = () => {
    rest.hidden = !fields.enabled.checked;
    add.hidden = rows.length >= MOST_WALLETS;
    supplied.hidden = saved.suppliedWallets === true;
  };
  add.addEventListener("click", () => {
    const row = walletRow({}, remove);
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
      const named = [...Object.values(fields), ...rows.flatMap((row) => Object.values(row.fields))].filter((field) => field.setError);
      const count = error instanceof api.Refused ? showFieldErrors(named, error) : 0;
      refill(
        trouble,
        count > 0 ? notice("bad", t("settings.problems", { count }), t("settings.nothingSaved")) : notice("bad", error.message, error.action),
      );
      if (count === 0) trouble.scrollIntoView({ block: "center" });
    }
  }
  supplied.addEventListener("click", () => send({ suppliedWallets: true }));

  function submit() {
    const wallets = rows.map((row) => row.value);
    return send({
      enabled: fields.enabled.checked,
      ...(fields.enabled.checked ? { onScreen: fields.onScreen.checked, address: fields.address.value.trim() } : {}),
      // What was not touched stays the list that came with the terminal, and is renewed with it.
      ...(fields.enabled.checked && JSON.stringify(wallets) !== before ? { wallets } : {}),
    });
  }

  show(saved.wallets);
  rest.append(
    h("fieldset", { class: "card" }, h("legend", {}, t("customers.way")), fields.onScreen.element, fields.address.element),
    h("h2", {}, t("customers.wallets")),
    h("p", { class: "quiet" }, t(saved.suppliedWallets ? "customers.walletsSupplied" : "customers.walletsOwn")),
    list, add, supplied,
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
