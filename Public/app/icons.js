// Icons, drawn on a 24 × 24 grid in the colour of the text beside them. They never carry meaning alone.

import { svg } from "./dom.js";

const PATHS = {
  alert: ["M12 3.5 2.6 19.5h18.8z", "M12 10v4.5", "M12 17v.01"],
  arrows: ["M4 9h14l-4-4", "M20 15H6l4 4"],
  backspace: ["M9 5h11v14H9l-6-7z", "M17 9.5l-5 5", "M12 9.5l5 5"],
  bar: ["M12 3a9 9 0 1 0 0 18 9 9 0 0 0 0-18z", "M7.5 12h9"],
  ban: ["M12 3a9 9 0 1 0 0 18 9 9 0 0 0 0-18z", "M5.7 5.7l12.6 12.6"],
  check: ["M4.5 12.8l5 5L19.5 7"],
  clock: ["M12 3a9 9 0 1 0 0 18 9 9 0 0 0 0-18z", "M12 7v5.2l3.4 2"],
  copy: ["M9 9h11v11H9z", "M5 15H4V4h11v1"],
  cross: ["M6 6l12 12", "M18 6L6 18"],
  eye: ["M2 12s3.6-6.5 10-6.5S22 12 22 12s-3.6 6.5-10 6.5S2 12 2 12z", "M12 9.2a2.8 2.8 0 1 0 0 5.6 2.8 2.8 0 0 0 0-5.6z"],
  eyeOff: ["M4 4l16 16", "M9.9 5.7A9.6 9.6 0 0 1 12 5.5c6.4 0 10 6.5 10 6.5a17 17 0 0 1-3.2 3.8", "M6.2 7.5A16.5 16.5 0 0 0 2 12s3.6 6.5 10 6.5a9.9 9.9 0 0 0 4.2-.9"],
  globe: ["M12 3a9 9 0 1 0 0 18 9 9 0 0 0 0-18z", "M3.3 12h17.4", "M12 3c2.6 2.7 3.8 5.7 3.8 9s-1.2 6.3-3.8 9c-2.6-2.7-3.8-5.7-3.8-9S9.4 5.7 12 3z"],
  history: ["M3.5 12a8.5 8.5 0 1 0 2.6-6.1L3.5 8.3", "M3.5 3.8v4.5H8", "M12 7.5V12l3 2"],
  keypad: ["M5 5h.01", "M12 5h.01", "M19 5h.01", "M5 12h.01", "M12 12h.01", "M19 12h.01", "M5 19h.01", "M12 19h.01", "M19 19h.01"],
  key: ["M15.5 3a5.5 5.5 0 1 0 0 11 5.5 5.5 0 0 0 0-11z", "M11.5 12.5L4 20v0h4v-3h3", "M16.5 7.5h.01"],
  left: ["M15 5l-7 7 7 7"],
  person: ["M12 4a4 4 0 1 0 0 8 4 4 0 0 0 0-8z", "M4.5 20.5c.8-4 3.8-6 7.5-6s6.7 2 7.5 6"],
  plug: ["M9 3v5", "M15 3v5", "M6 8h12v3a6 6 0 0 1-12 0z", "M12 17v4"],
  plus: ["M12 5v14", "M5 12h14"],
  question: ["M8.2 8.6a3.9 3.9 0 1 1 5.6 3.9c-1.2.6-1.8 1.3-1.8 2.7", "M12 19v.01"],
  right: ["M9 5l7 7-7 7"],
  signOut: ["M14 4H5v16h9", "M10 12h11", "M17.5 8.5L21 12l-3.5 3.5"],
  sliders: ["M4 7h9", "M17 7h3", "M15 5v4", "M4 17h3", "M11 17h9", "M9 15v4"],
  wallet: ["M8 2.5h8A1.5 1.5 0 0 1 17.5 4v16a1.5 1.5 0 0 1-1.5 1.5H8A1.5 1.5 0 0 1 6.5 20V4A1.5 1.5 0 0 1 8 2.5z", "M11 18.3h2", "M9.6 6.3h1.5v1.5H9.6z", "M13 6.3h1.5v1.5H13z", "M9.6 9.7h1.5v1.5H9.6z", "M12.7 11l.9.9 1.5-1.9"],
};

/** Icons that point along the line of reading: they are mirrored where it runs from right to left. */
const POINTING = new Set(["left", "right", "signOut"]);

/** The icon of that name. It is hidden from screen readers: words stand beside it. */
export function icon(name, className = "") {
  return svg(
    "svg",
    {
      class: `icon ${POINTING.has(name) ? "icon-points " : ""}${className}`.trim(), viewBox: "0 0 24 24", fill: "none", stroke: "currentColor",
      "stroke-width": { keypad: 3.2, wallet: 1.3 }[name] ?? 2, "stroke-linecap": "round", "stroke-linejoin": "round",
      "aria-hidden": "true", focusable: "false",
    },
    PATHS[name].map((d) => svg("path", { d })),
  );
}

/** The terminal's mark: three corners of a QR code, and a tick. */
export function mark() {
  const corner = (x, y) => svg("rect", { x, y, width: 14, height: 14, rx: 3.5 });
  return svg(
    "svg", { class: "mark", viewBox: "8 8 48 48", fill: "none", "aria-hidden": "true", focusable: "false" },
    svg("g", { stroke: "currentColor", "stroke-width": 4 }, corner(14, 14), corner(36, 14), corner(14, 36)),
    svg("path", { class: "mark-tick", d: "M35 44l6 6 11-13", "stroke-width": 5, "stroke-linecap": "round", "stroke-linejoin": "round" }),
  );
}
