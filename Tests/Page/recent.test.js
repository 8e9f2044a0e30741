import { chargeAddress, chargeRow, fetchRecent, lastCharge, lastChargeStrip, refreshRecent } from "/app/recent.js";
import { state, update } from "/app/store.js";
import { t, useLanguage } from "/app/strings.js";
import { clock, onPage, terminal } from "./fakes.js";
import { afterwards, equal, replace, settled, test } from "./harness.js";

await useLanguage(["en"]);

const charge = (id, name = "succeeded", more = {}) => ({ id, state: name, createdAt: "2026-11-27T10:00:00Z", amountText: "€12.50", ...more });

/** A signed-in page with a stopped clock, whose terminal has these charges. */
function page(charges = [charge("7")]) {
  const all = { time: clock(), charges };
  all.asked = terminal(({ path }) => (path.startsWith("/charges?") ? { body: { charges: all.charges } } : { body: charge("7") }));
  update({ session: { signedIn: true, setUp: true }, terminal: null, recent: null, followed: null });
  afterwards(async () => {
    all.charges = [];
    await fetchRecent();
    update({ session: null, terminal: null, recent: null, followed: null });
    sessionStorage.clear();
    history.replaceState(null, "", location.pathname);
  });
  return all;
}

test("The newest six charges are fetched", async () => {
  const { asked } = page();
  await fetchRecent();
  equal([state.recent.map(({ id }) => id), asked.map(({ path }) => path)], [["7"], ["/charges?limit=6"]]);
});

test("Nothing is fetched before the set-up, nor for nobody", async () => {
  const { asked } = page();
  for (const session of [null, { signedIn: false, setUp: true }, { signedIn: true, setUp: false }]) {
    update({ session });
    await fetchRecent();
  }
  equal(asked, []);
});

test("While one of them is open the list is fetched again, until it has ended", async () => {
  const all = page([charge("7", "unknown")]);
  await fetchRecent();
  await all.time.advance(10_000);
  equal(all.asked.length, 3);
  all.charges = [charge("7")];
  await all.time.advance(60_000);
  equal([all.asked.length, state.recent[0].state], [4, "succeeded"]);
});

test("A list that nobody looks at is not fetched by itself", async () => {
  const all = page([charge("7", "unknown")]);
  await fetchRecent();
  replace(document, "visibilityState", "hidden");
  await all.time.advance(60_000);
  equal(all.asked.length, 1);
});

test("Words about the same state of the same charge fetch nothing, and every other does", async () => {
  const { asked } = page();
  const said = async (phase, one) => {
    refreshRecent({ phase, charge: one });
    await settled();
    return asked.length;
  };
  equal(await said("charging", charge("7", "created")), 1);
  equal(await said("charging", charge("7", "created", { secondsLeft: 5 })), 1);
  equal(await said("charging", charge("7", "processing")), 2);
  equal(await said("charging", charge("8", "processing")), 3);
  equal(await said("idle", null), 4);
  equal(await said("idle", null), 5);
});

test("What happens while the list is on its way is not missed", async () => {
  const all = page();
  const both = [fetchRecent(), fetchRecent(), fetchRecent()];
  await Promise.all(both);
  equal(all.asked.length, 2);
});

test("Where the list does not come, the one before stays", async () => {
  page();
  await fetchRecent();
  terminal(() => { throw new TypeError("Failed to fetch"); });
  await fetchRecent();
  equal(state.recent.length, 1);
});

test("The last charge is the newer one of what runs and what is listed", () => {
  page();
  equal(lastCharge(), undefined);
  update({ recent: [charge("7", "succeeded", { createdAt: "2026-11-27T10:00:00Z" })] });
  equal(lastCharge().id, "7");
  update({ terminal: { charge: charge("8", "created", { createdAt: "2026-11-27T10:00:01Z" }) } });
  equal(lastCharge().id, "8");
  update({ terminal: { charge: charge("6", "failed", { createdAt: "2026-11-27T09:00:00Z" }) } });
  equal(lastCharge().id, "7");
  // The same one twice: the terminal's word is the newer.
  update({ terminal: { charge: charge("7", "failed") } });
  equal(lastCharge().state, "failed");
});

test("A row says state, time, reference and amount, and leads to its charge", () => {
  const row = chargeRow(charge("a/b", "failed", { reference: "<i>Table 7</i>" }), { isCurrent: true });
  equal([row.getAttribute("href"), row.getAttribute("aria-current"), row.querySelector(".row-amount").textContent], ["#/history/a%2Fb", "true", "€12.50"]);
  equal([row.querySelector(".row-state").textContent, row.querySelector("bdi").textContent, row.querySelector("i")], [t("state.failed.word"), "<i>Table 7</i>", null]);
  equal([chargeRow(charge("7")).hasAttribute("aria-current"), chargeAddress({ id: "7" })], [false, "#/history/7"]);
});

test("The last charge's line shows it large, or its page where the terminal does not answer", async () => {
  page();
  const line = onPage(lastChargeStrip(charge("7"), []));
  equal([line.dataset.state, line.querySelector(".last-strip-amount").textContent], ["succeeded", "€12.50"]);
  line.click();
  await settled();
  equal([state.followed.id, location.hash], ["7", "#/charge"]);
  terminal(() => { throw new TypeError("Failed to fetch"); });
  line.click();
  await settled();
  equal(location.hash, "#/history/7");
});

test("Without a charge the line says that there is none yet, and leads to the history", () => {
  const line = lastChargeStrip(undefined, []);
  equal([line.dataset.state, line.getAttribute("href"), line.textContent.includes(t("history.empty"))], ["none", "#/history", true]);
  equal(lastChargeStrip(undefined, null).textContent.includes(t("history.last")), true);
});
