import { update } from "/app/store.js";
import { useLanguage } from "/app/strings.js";
import { outboxView } from "/app/views/outbox.js";
import { fill, onPage, terminal } from "./fakes.js";
import { afterwards, equal, settled, test } from "./harness.js";

await useLanguage(["en"]);

const SAVED = { readable: true, enabled: false, host: "db", port: 5432, database: "till", user: "till", authorities: [], version: 1, state: "off", waiting: 0, terminal: "t" };

test("A database that the terminal refuses is said: at its field, or for the whole form", async () => {
  update({ session: { role: "owner" } });
  let answer = {};
  terminal(({ method }) => (method === "PUT" ? answer : { body: SAVED }));
  const view = outboxView();
  onPage(view.element);
  afterwards(() => {
    view.end();
    update({ session: null });
  });
  await settled();
  const find = (selector) => view.element.querySelector(selector);
  const save = async (said) => {
    answer = { status: 422, body: said };
    fill(find("[name=host]"), "db");
    find("form").dispatchEvent(new Event("submit", { cancelable: true }));
    for (let turn = 0; turn < 3; turn += 1) await settled();
    return [...view.element.querySelectorAll(".field-error, .trouble")].map((place) => place.textContent).filter(Boolean);
  };
  equal(await save({ code: "wrong_password", message: "Wrong password.", fields: { password: { code: "x", message: "Wrong password." } } }), ["Wrong password."]);
  equal(await save({ code: "outbox_conflict", message: "Changed elsewhere.", action: "Load it again." }), ["Changed elsewhere.Load it again."]);
});
