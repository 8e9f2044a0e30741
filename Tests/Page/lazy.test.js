import { h } from "/app/dom.js";
import { lazyView } from "/app/lazy.js";
import { t, useLanguage } from "/app/strings.js";
import { onPage } from "./fakes.js";
import { afterwards, equal, replace, settled, test } from "./harness.js";

await useLanguage(["en"]);

/** A view whose code comes when `arrive` is called, or fails when `fail` is. */
function late({ sheet } = {}) {
  const all = { made: 0, heard: [] };
  const code = new Promise((resolve, reject) => Object.assign(all, { arrive: () => { resolve({ all }); return settled(); }, fail: () => { reject(new Error("no")); return settled(); } }));
  all.inner = h("section", {}, h("h1", { tabindex: "-1" }, "Totals"));
  all.view = lazyView(() => code, () => {
    all.made += 1;
    return { element: all.inner, update: () => all.heard.push("update"), go: (id) => all.heard.push(`go ${id}`), end: () => all.heard.push("end") };
  }, sheet);
  onPage(all.view.element);
  afterwards(() => all.inner.remove());
  return all;
}

test("The place is held until the view is there, and the view takes it", async () => {
  const all = late();
  equal(all.view.element.textContent, t("history.loading"));
  await all.arrive();
  equal([all.inner.isConnected, all.view.element.isConnected, all.heard], [true, false, ["update"]]);
});

test("What the view is told before it is there breaks nothing, and afterwards reaches it", async () => {
  const all = late();
  all.view.update();
  all.view.go("7");
  await all.arrive();
  all.view.go("8");
  all.view.end();
  equal(all.heard, ["update", "go 8", "end"]);
});

test("A view that was left before it came is not made", async () => {
  const all = late();
  all.view.end();
  await all.arrive();
  equal([all.made, all.inner.isConnected], [0, false]);
});

test("Where its code does not come that is said, with a way to try again", async () => {
  const all = late();
  await all.fail();
  equal([all.view.element.textContent.includes(t("app.unreachable")), all.view.element.querySelector("button").textContent], [true, t("trouble.retry")]);
});

test("Its title has the focus, unless somebody has gone on to something else meanwhile", async () => {
  const all = late();
  await all.arrive();
  equal(document.activeElement === all.inner.querySelector("h1"), true);
  document.activeElement.blur();
  const other = late();
  const field = onPage(h("input", {}));
  field.focus();
  await other.arrive();
  equal(document.activeElement === field, true);
});

test("A view waits for its sheet, which is asked for once", async () => {
  const links = [];
  replace(document.head, "append", (link) => links.push(link));
  const [one, other] = [late({ sheet: "no-such" }), late({ sheet: "no-such" })];
  await one.arrive();
  await other.arrive();
  equal([links.length, links[0].getAttribute("href"), one.made], [1, "/style/no-such.css", 0]);
  links[0].dispatchEvent(new Event("load"));
  await settled();
  equal([one.made, other.made], [1, 1]);
});

test("A sheet that did not come is asked for again the next time", async () => {
  const links = [];
  replace(document.head, "append", (link) => links.push(link));
  const one = late({ sheet: "other" });
  await one.arrive();
  links[0].dispatchEvent(new Event("error"));
  await settled();
  equal(one.view.element.textContent.includes(t("app.unreachable")), true);
  late({ sheet: "other" });
  equal(links.length, 2);
});
