import { textField } from "/app/form.js";
import { watchName } from "/app/name-check.js";
import { useLanguage } from "/app/strings.js";
import { clock, fill, onPage, terminal } from "./fakes.js";
import { equal, settled, test } from "./harness.js";

await useLanguage(["en"]);

/** A field for a name, with a stopped clock; `missing` is what the terminal's screen cannot draw. */
function field(answer) {
  const all = { time: clock(), asked: terminal(answer), field: textField("merchantName", { label: "Name" }) };
  onPage(all.field.element);
  watchName(all.field);
  all.note = () => { const note = all.field.element.querySelector(".name-missing"); return note.hidden ? null : note.textContent; };
  return all;
}

test("Letters that the screen cannot draw are said when they are typed, after a pause, and the name stays as it is", async () => {
  const all = field(({ body }) => ({ body: { missing: body.merchantName.includes("ร") ? "ร ้" : "" } }));
  for (const typed of ["C", "Ca", "Caf", "Café ร้าน"]) fill(all.field.control, typed);
  await all.time.advance(399);
  equal([all.asked.length, all.note()], [0, null]);
  await all.time.advance(1);
  equal([all.asked.map(({ path, body }) => [path, body]), all.note().includes("ร ้"), all.field.value], [[["/settings/name", { merchantName: "Café ร้าน" }]], true, "Café ร้าน"]);
  equal(all.field.control.hasAttribute("aria-invalid"), false);
  fill(all.field.control, "Café");
  await all.time.advance(400);
  equal(all.note(), null);
});

test("Where the terminal does not answer nothing is said against a name", async () => {
  const all = field(() => { throw new TypeError("Failed to fetch"); });
  fill(all.field.control, "Café");
  await all.time.advance(400);
  equal(all.note(), null);
});

test("A late answer about an earlier name says nothing of the one that stands there", async () => {
  const answers = [];
  const all = field(() => new Promise((resolve) => answers.push(resolve)));
  fill(all.field.control, "ร");
  await all.time.advance(400);
  fill(all.field.control, "Café");
  await all.time.advance(400);
  answers[1]({ body: { missing: "" } });
  answers[0]({ body: { missing: "ร" } });
  await settled();
  equal(all.note(), null);
});
