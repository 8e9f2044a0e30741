import { may } from "/app/may.js";
import { state, update } from "/app/store.js";
import { facts } from "./fakes.js";
import { equal, test } from "./harness.js";

const { roles } = await facts();

/** What the page shows, and what the terminal is asked for there. */
const ASKS = {
  charge: "openCharge", history: "history", me: "changePIN", days: "days", totals: "totals", export: "export", giveBack: "takeBack",
  staff: "staff", settings: "settings", health: "health",
};
const NAMES = ["owner", "manager", "cashier"];

/** Who may, by the page. */
function whoMay(name) {
  return NAMES.filter((role) => {
    update({ session: { role } });
    return may(name);
  });
}

test("The page shows to each role what the terminal answers to it, and nothing else", () => {
  for (const [name, route] of Object.entries(ASKS)) equal([name, whoMay(name)], [name, roles[route]]);
});

test("A cashier sees no totals, no refunds, no export and no settings", () => {
  for (const name of ["totals", "giveBack", "export", "days", "staff", "settings", "health"]) equal([name, whoMay(name).includes("cashier")], [name, false]);
});

test("What nobody listed is the owner's alone", () => {
  equal([whoMay("tokens"), whoMay("backup"), whoMay("no such page")], [["owner"], ["owner"], ["owner"]]);
});

test("Nobody and unknown roles may nothing", () => {
  for (const session of [null, {}, { role: "till" }, { role: "metrics" }]) {
    update({ session });
    equal([session, Object.keys(ASKS).filter((name) => may(name))], [session, []]);
  }
  equal(state.session.role, "metrics");
});
