import { state, subscribe, update } from "/app/store.js";
import { afterwards, equal, test } from "./harness.js";

test("Whoever listens hears of each change, with everything that is known", () => {
  const heard = [];
  afterwards(subscribe((all) => heard.push([all.link, all.terminal])));
  update({ link: "live" });
  update({ terminal: "idle" });
  equal(heard, [["live", null], ["live", "idle"]]);
  equal(state.link, "live");
});

test("Whoever stopped listening hears nothing any more", () => {
  let heard = 0;
  const stop = subscribe(() => { heard += 1; });
  update({});
  stop();
  update({});
  equal(heard, 1);
});

test("A listener that stops while it is told keeps nobody else from being told", () => {
  const heard = [];
  const stop = subscribe(() => { heard.push("first"); stop(); });
  afterwards(subscribe(() => heard.push("second")));
  update({});
  update({});
  equal(heard, ["first", "second", "second"]);
});

test("A change of one thing leaves the rest as it was", () => {
  update({ clockAhead: 5 });
  update({ recent: [] });
  equal([state.clockAhead, state.recent], [5, []]);
});
