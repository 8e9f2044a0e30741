// A QR code drawn from the modules that the terminal names: this page makes none of its own.

import { svg } from "./dom.js";

/** The white border that readers need. Source: ISO/IEC 18004, quiet zone. */
const QUIET = 4;

/** `rows`: a text for each row, `1` for a dark module. `label` is what the code is for. */
export function qrImage(rows, label) {
  const side = rows.length + 2 * QUIET;
  const dark = [];
  rows.forEach((row, y) => [...row].forEach((module, x) => { if (module === "1") dark.push(`M${x + QUIET} ${y + QUIET}h1v1h-1z`); }));
  return svg(
    "svg", { class: "qr", viewBox: `0 0 ${side} ${side}`, role: "img", "aria-label": label, "shape-rendering": "crispEdges" },
    svg("rect", { class: "qr-paper", width: side, height: side }), svg("path", { class: "qr-ink", d: dark.join("") }),
  );
}
