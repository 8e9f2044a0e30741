import { announce, freshID, h, refill, svg } from "/app/dom.js";
import { equal, replace, test, throws } from "./harness.js";

test("Text from outside never becomes markup", () => {
  const name = "<img src=x onerror=alert(1)>";
  const element = h("p", { title: name }, name, h("b", {}, name));
  equal([element.children.length, element.querySelector("img"), element.firstChild.textContent, element.title], [1, null, name, name]);
  refill(element, name);
  equal([element.children.length, element.textContent], [0, name]);
});

test("Inline code, inline style and markup are refused when an element is built", async () => {
  for (const name of ["onclick", "style", "innerHTML", "onerror"]) equal((await throws(() => h("p", { [name]: "x" }))).name, "TypeError");
});

test("Nothing is nothing: null, undefined and false add neither child nor attribute", () => {
  equal(h("p", { id: null, hidden: false, title: undefined }, null, false, undefined, [[], [null]]).outerHTML, "<p></p>");
  equal(h("p", { hidden: true, "data-count": 0 }, 0, ["a", ["b"]]).outerHTML, '<p hidden="" data-count="0">0ab</p>');
});

test("A value is typed into the field and a listener hears its event", () => {
  let heard = 0;
  const input = h("input", { value: "12,50", on: { input: () => { heard += 1; } } });
  input.dispatchEvent(new Event("input"));
  equal([input.value, input.hasAttribute("on"), heard], ["12,50", false, 1]);
});

test("A drawing is made of elements that browsers draw", () => {
  equal(svg("svg", {}, svg("path", { d: "M0 0" })).firstChild instanceof SVGPathElement, true);
});

test("Names of elements are never the same twice, and can be used as they are", () => {
  const [one, other] = [freshID("a.b"), freshID("a.b")];
  equal([one === other, document.querySelector(`#${one}`)], [false, null]);
});

test("What is announced twice is heard twice, calmly or at once", () => {
  const frames = [];
  replace(globalThis, "requestAnimationFrame", (work) => frames.push(work));
  const [calm, now] = ["announce-calm", "announce-now"].map((id) => document.getElementById(id));
  for (const _ of [1, 2]) {
    announce("Paid");
    equal(calm.textContent, "");
    frames.pop()();
    equal([calm.textContent, now.textContent], ["Paid", ""]);
  }
  announce("Paid", { atOnce: true });
  frames.pop()();
  equal(now.textContent, "Paid");
});
