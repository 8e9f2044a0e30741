import { update } from "/app/store.js";
import { t, useLanguage } from "/app/strings.js";
import { settingsView } from "/app/views/settings.js";
import { facts, fill, onPage, terminal } from "./fakes.js";
import { afterwards, equal, settled, test } from "./harness.js";

await useLanguage(["en"]);

const { exponents } = await facts();

/** The owner's settings of a shop with this currency and locale, and with these limits in minor units. */
async function settings({ currency = "EUR", locale = "en-US", chargeLimitMinor = 50_000, hourlyLimitMinor = null, openPayments } = {}) {
  const all = { sent: [] };
  const saved = {
    currency, locale, chargeLimitMinor, hourlyLimitMinor, language: "en", timeZone: "Europe/Berlin", merchantName: "Café", operatorID: "o",
    merchantID: "m", gatewayURL: "https://gateway.example", gatewayKeySet: true, version: 3, openPayments,
  };
  terminal(({ method, path, body }) => {
    if (`${method} ${path}` === "PUT /settings") all.sent.push(body);
    return { body: path === "/settings" ? saved : path === "/health" ? { addresses: [] } : { image: null, version: 0 } };
  });
  update({ session: { role: "owner", currency, currencyExponent: exponents[currency], locale } });
  const view = settingsView({ onSaved: async () => {}, onSignOut: () => {} });
  onPage(view.element);
  afterwards(() => {
    update({ session: null });
    sessionStorage.clear();
  });
  await settled();
  all.field = (name) => view.element.querySelector(`[name=${name}]`);
  all.error = (name) => all.field(name).closest(".field").querySelector(".field-error").textContent;
  all.save = async () => {
    view.element.querySelector("form.settings-form").dispatchEvent(new Event("submit", { cancelable: true }));
    await settled();
    return all.sent.at(-1);
  };
  all.text = () => view.element.textContent;
  all.leave = () => view.element.remove();
  return all;
}

test("Settings that are saved without a change leave the limits as they were, in every currency", async () => {
  for (const currency of ["EUR", "HUF", "IDR", "IQD", "JPY", "KWD"]) {
    for (const locale of ["en-US", "de-DE"]) {
      const shop = await settings({ currency, locale, hourlyLimitMinor: 1_234_567 });
      const { chargeLimitMinor, hourlyLimitMinor } = (await shop.save()) ?? {};
      equal([currency, locale, chargeLimitMinor, hourlyLimitMinor], [currency, locale, 50_000, 1_234_567]);
      shop.leave();
    }
  }
});

test("A limit is typed as people write it, and an empty one is none", async () => {
  const shop = await settings();
  equal(shop.field("chargeLimitMinor").value, "500.00");
  fill(shop.field("chargeLimitMinor"), "12,5");
  equal((await shop.save()).chargeLimitMinor, 1250);
  fill(shop.field("chargeLimitMinor"), " ");
  equal((await shop.save()).chargeLimitMinor, null);
});

test("A limit stands there as the shop writes amounts, and so does the example of one", async () => {
  const shop = await settings({ currency: "KWD", locale: "de-DE" });
  equal(shop.field("chargeLimitMinor").value, "50,000");
  fill(shop.field("chargeLimitMinor"), "50.000");
  await shop.save();
  equal([shop.error("chargeLimitMinor"), shop.sent.length], [t("settings.chargeLimitError", { example: "50,000" }), 0]);
});

test("A limit that is no amount is said at its field, and nothing is saved", async () => {
  const shop = await settings();
  for (const text of ["1 2", "1.2.3", "-5", "a lot"]) {
    fill(shop.field("chargeLimitMinor"), text);
    await shop.save();
    equal([text, shop.error("chargeLimitMinor"), shop.sent.length], [text, t("settings.chargeLimitError", { example: "500.00" }), 0]);
  }
});

test("The password is asked for where payments would go elsewhere, and is sent only then", async () => {
  const shop = await settings();
  const isAsked = () => !shop.field("password").closest(".field").hidden;
  equal(isAsked(), false);
  equal("password" in (await shop.save()), false);
  fill(shop.field("gatewayURL"), "https://other.example");
  equal(isAsked(), true);
  fill(shop.field("password"), "secret");
  equal([(await shop.save()).password, shop.sent.at(-1).gatewayURL], ["secret", "https://other.example"]);
});

test("Whoever changes the gateway reads how many payments are still open there, and who looks later how many elsewhere", async () => {
  const shop = await settings({ openPayments: { here: 2, followed: 0, stranded: 0 } });
  equal(shop.text().includes(t("settings.openHere", { count: 2 })), false);
  fill(shop.field("gatewayURL"), "https://other.example");
  equal(shop.text().includes(t("settings.openHere", { count: 2 })), true);
  shop.leave();
  const later = await settings({ openPayments: { here: 0, followed: 2, stranded: 1 } });
  equal([t("settings.followed", { count: 2 }), t("settings.stranded", { count: 1 })].map((words) => later.text().includes(words)), [true, true]);
});
