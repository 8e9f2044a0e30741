// What the page shows to whom. The terminal refuses all the same whatever a role does not include.

import { state } from "./store.js";

/** Beside these a role may nothing; the owner may everything. */
const INCLUDED = {
  manager: new Set(["charge", "history", "me", "days", "totals", "export", "giveBack", "staff", "settings", "health"]),
  cashier: new Set(["charge", "history", "me"]),
};

/** Whether whoever is signed in may go to a page or do something of this name. */
export function may(name) {
  const role = state.session?.role;
  if (role === "owner") return name !== "me";
  return INCLUDED[role]?.has(name) ?? false;
}
