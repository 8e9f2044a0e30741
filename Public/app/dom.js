// Elements are built here and nowhere else. Text only ever becomes a text node, so nothing that comes from outside
// (merchant name, reference, gateway words) can become markup.

const SVG = "http://www.w3.org/2000/svg";

/**
 * Builds an element: `h("button", { class: "key", on: { click } }, "7")`.
 * Children are nodes, texts, numbers, arrays of them, or null and false for nothing.
 */
export function h(tag, attributes = {}, ...children) {
  return fill(document.createElement(tag), attributes, children);
}

/** Builds an SVG element. */
export function svg(tag, attributes = {}, ...children) {
  return fill(document.createElementNS(SVG, tag), attributes, children);
}

function fill(element, attributes, children) {
  for (const [name, value] of Object.entries(attributes)) {
    if (value === null || value === undefined || value === false) continue;
    if (name === "on") {
      for (const [event, listener] of Object.entries(value)) element.addEventListener(event, listener);
    } else if (name === "value") {
      element.value = value;
    } else if (name === "style" || name.startsWith("on") || name === "innerHTML") {
      throw new TypeError(`${name} is not allowed: the page's security policy refuses inline code and style`);
    } else {
      element.setAttribute(name, value === true ? "" : String(value));
    }
  }
  append(element, children);
  return element;
}

function append(element, children) {
  for (const child of children.flat(Infinity)) {
    if (child === null || child === undefined || child === false) continue;
    element.append(child instanceof Node ? child : String(child));
  }
}

/** Replaces what an element holds. */
export function refill(element, ...children) {
  element.replaceChildren();
  append(element, children);
}

let lastID = 0;

/** A name for an element that another one points to. */
export function freshID(prefix) {
  lastID += 1;
  return `${prefix.replaceAll(".", "-")}-${lastID}`;
}

/** Has a screen reader say `text`: at once where it is about money, else when there is a pause. */
export function announce(text, { atOnce = false } = {}) {
  const region = document.getElementById(atOnce ? "announce-now" : "announce-calm");
  // The same words twice in a row are only heard when the region was empty in between.
  region.textContent = "";
  requestAnimationFrame(() => { region.textContent = text; });
}
