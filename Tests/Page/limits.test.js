// The limits of roles and of phones, which the views of staff and phones hold: read and written as the settings' own.

import { update } from "/app/store.js";
import { t, useLanguage } from "/app/strings.js";
import { phonesView } from "/app/views/phones.js";
import { staffView } from "/app/views/staff.js";
import { facts, fill, onPage, terminal } from "./fakes.js";
import { afterwards, equal, settled, test } from "./harness.js";

await useLanguage(["en"]);

const { exponents } = await facts();

/** A view of the owner in a shop with this currency and locale; `saved` is what the terminal has for it. */
async function shown(makeView, saved, { currency, locale }) {
  const all = { sent: [] };
  terminal(({ method, path, body }) => {
    if (method === "PUT") all.sent.push(body);
    return { body: path === "/taps/calibration" ? { measuring: null, mode: null, inside: null, outside: null, threshold: null, problem: null } : saved };
  });
  // Where the page says that it has saved.
  onPage(document.createElement("main"));
  update({ session: { role: "owner", currency, currencyExponent: exponents[currency], locale } });
  const view = makeView();
  onPage(view.element);
  afterwards(() => {
    view.end();
    update({ session: null });
  });
  for (let turn = 0; turn < 3; turn += 1) await settled();
  all.field = (name) => view.element.querySelector(`[name=${name}]`);
  all.error = (name) => all.field(name).closest(".field").querySelector(".field-error").textContent;
  all.save = async () => {
    view.element.querySelector("form.settings-form:has([type=submit])").dispatchEvent(new Event("submit", { cancelable: true }));
    for (let turn = 0; turn < 3; turn += 1) await settled();
    return all.sent.at(-1) ?? {};
  };
  all.leave = () => { view.end(); view.element.remove(); };
  return all;
}

const SHOPS = [["EUR", "en-US", "1,5"], ["EUR", "de-DE", "1.5"], ["HUF", "en-US", "1.5"], ["JPY", "ja-JP", "150"], ["KWD", "de-DE", "1,50"], ["KWD", "en-US", "1.50"]];

const staff = (shop) => shown(() => staffView({ onCounter: () => {} }), {
  readable: true, people: [], browsers: [], most: 20, cashierMaximumMinor: 123_456, managerMaximumMinor: null, lockMinutes: 5, version: 1,
}, shop);
const phones = (shop) => shown(() => phonesView(), {
  enabled: true, mode: "near", version: 1, offlineAllowed: true, offlineFloorMinor: 123_456, offlineTotalMinor: 765_432, offlineHours: 12,
  tapThreshold: -40, nearThreshold: -50, openThreshold: -60, taggedThreshold: -70, tipMode: "none", tipMaximumPercent: 20, tipPresets: "5, 10",
}, shop);

test("The roles' limits that are saved without a change stay as they were, in every currency", async () => {
  for (const [currency, locale] of SHOPS) {
    const all = await staff({ currency, locale });
    equal([currency, locale, await all.save()], [currency, locale, { lockMinutes: 5, cashierMaximumMinor: 123_456, managerMaximumMinor: null }]);
    all.leave();
  }
});

test("A role's limit is read as people write it, and refused at its field where it is none", async () => {
  for (const [currency, locale, text] of SHOPS) {
    const all = await staff({ currency, locale });
    fill(all.field("managerMaximumMinor"), text);
    equal([currency, locale, (await all.save()).managerMaximumMinor], [currency, locale, currency === "KWD" ? 1500 : 150]);
    fill(all.field("managerMaximumMinor"), "1 50");
    await all.save();
    equal([all.sent.length, all.error("managerMaximumMinor") !== ""], [1, true]);
    all.leave();
  }
});

test("The example of a role's limit is in the shop's writing", async () => {
  const all = await staff({ currency: "KWD", locale: "de-DE" });
  fill(all.field("cashierMaximumMinor"), "1.500");
  await all.save();
  equal([all.sent.length, all.error("cashierMaximumMinor")], [0, t("settings.chargeLimitError", { example: "50,000" })]);
});

test("The limits of offline payments that are saved without a change stay as they were, in every currency", async () => {
  for (const [currency, locale] of SHOPS) {
    const all = await phones({ currency, locale });
    const { offlineFloorMinor, offlineTotalMinor } = await all.save();
    equal([currency, locale, offlineFloorMinor, offlineTotalMinor], [currency, locale, 123_456, 765_432]);
    all.leave();
  }
});

test("A limit of offline payments that is no amount is said at its field, with an example in the shop's writing", async () => {
  const all = await phones({ currency: "KWD", locale: "de-DE" });
  fill(all.field("offlineFloorMinor"), "1.500");
  await all.save();
  equal([all.sent.length, all.error("offlineFloorMinor")], [0, t("settings.chargeLimitError", { example: "50,000" })]);
});
