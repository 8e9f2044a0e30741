import { SharedStream } from "/app/stream.js";
import { clock, streams } from "./fakes.js";
import { afterwards, equal, replace, settled, test } from "./harness.js";

/** A browser with a stopped clock. `tab()` opens one, `hidden` where nobody looks at it. */
function browser() {
  const all = { time: clock(), opened: streams() };
  all.tab = async ({ hidden = false } = {}) => {
    const page = Object.assign(new EventTarget(), { visibilityState: hidden ? "hidden" : "visible" });
    const stream = new SharedStream("/api/v1/events", page);
    const tab = { stream, heard: [], ages: [] };
    for (const name of ["terminal", "error"]) {
      stream.addEventListener(name, (event) => {
        tab.heard.push(event.data ?? name);
        if (name === "terminal") tab.ages.push(event.ageMilliseconds);
      });
    }
    tab.look = async (isLookedAt) => {
      page.visibilityState = isLookedAt ? "visible" : "hidden";
      page.dispatchEvent(new Event("visibilitychange"));
      await settled();
    };
    afterwards(() => stream.close());
    await settled();
    return tab;
  };
  all.connections = () => all.opened.filter(({ isOpen }) => isOpen).length;
  all.says = async (data) => {
    all.opened.filter(({ isOpen }) => isOpen).at(-1).says("terminal", data);
    await settled();
  };
  return all;
}

test("Dozens of tabs have one connection, and each hears everything once", async () => {
  const all = browser();
  const tabs = [];
  for (let count = 0; count < 40; count += 1) tabs.push(await all.tab());
  await all.says("paid");
  await all.time.advance(60_000);
  equal([all.connections(), all.opened.length, tabs.every(({ heard }) => heard.join() === "paid")], [1, 1, true]);
});

test("A tab that comes hears at once what the terminal said, and how long ago", async () => {
  const all = browser();
  const first = await all.tab();
  await all.says("idle");
  await all.time.advance(4_000);
  const second = await all.tab();
  equal([second.heard, second.ages, first.stream.leads, second.stream.leads], [["idle"], [4_000], true, false]);
});

test("When the tab that has the connection is closed, another one opens it", async () => {
  const all = browser();
  const [first, second] = [await all.tab(), await all.tab()];
  first.stream.close();
  await settled();
  equal([second.stream.leads, all.connections(), all.opened.length], [true, 1, 2]);
  await all.says("paid");
  equal([first.heard, second.heard], [[], ["paid"]]);
});

test("The tab that is looked at has the connection", async () => {
  const all = browser();
  const first = await all.tab();
  await all.says("idle");
  await first.look(false);
  equal(first.stream.leads, true);
  const second = await all.tab();
  equal([first.stream.leads, second.stream.leads, all.connections()], [false, true, 1]);
  await all.says("paid");
  equal([first.heard.at(-1), second.heard], ["paid", ["idle", "paid"]]);
  await second.look(false);
  await first.look(true);
  equal([first.stream.leads, all.connections()], [true, 1]);
});

test("A tab that nobody has looked at for a minute holds nothing, and hears again as soon as somebody looks", async () => {
  const all = browser();
  const tabs = [await all.tab(), await all.tab({ hidden: true })];
  await tabs[0].look(false);
  await all.time.advance(59_000);
  equal(all.connections(), 1);
  await all.time.advance(1_000);
  equal(all.connections(), 0);
  await tabs[1].look(true);
  equal([tabs[1].stream.leads, all.connections()], [true, 1]);
});

test("A tab that has the connection and does not answer loses it after a second", async () => {
  const all = browser();
  let taken = 0;
  navigator.locks.request("till.events", {}, () => new Promise(() => {})).catch(() => { taken += 1; });
  await settled();
  const tab = await all.tab();
  await all.time.advance(999);
  equal([tab.stream.leads, taken], [false, 0]);
  await all.time.advance(1);
  equal([tab.stream.leads, taken, all.connections()], [true, 1, 1]);
});

test("Of two that take it from a frozen tab one has it, and the other one hears", async () => {
  const all = browser();
  navigator.locks.request("till.events", {}, () => new Promise(() => {})).catch(() => {});
  await settled();
  const tabs = [await all.tab(), await all.tab(), await all.tab()];
  await all.time.advance(5_000);
  equal([tabs.filter(({ stream }) => stream.leads).length, all.connections()], [1, 1]);
  await all.says("paid");
  equal(tabs.map(({ heard }) => heard), [["paid"], ["paid"], ["paid"]]);
});

test("A broken connection is told to every tab", async () => {
  const all = browser();
  const [first, second] = [await all.tab(), await all.tab()];
  all.opened[0].breaks();
  await settled();
  equal([first.heard, second.heard], [["error"], ["error"]]);
});

test("A tab that has stopped listening hears nothing, and waits for nothing", async () => {
  const all = browser();
  const [first, second] = [await all.tab(), await all.tab()];
  second.stream.close();
  await all.says("paid");
  first.stream.close();
  await all.time.advance(120_000);
  equal([second.heard, all.connections(), all.opened.length, all.time.next], [[], 0, 1, null]);
});

test("Where tabs cannot share, each has a connection of its own only while it is looked at", async () => {
  const all = browser();
  replace(navigator, "locks", undefined);
  const [first, second] = [await all.tab(), await all.tab()];
  equal(all.connections(), 2);
  await first.look(false);
  equal([first.stream.leads, second.stream.leads, all.connections()], [false, true, 1]);
  await first.look(true);
  equal(all.connections(), 2);
});
