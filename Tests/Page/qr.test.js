import { qrImage } from "/app/qr.js";
import { equal, test } from "./harness.js";

test("Each dark module is drawn at its place, and no light one", () => {
  const path = qrImage(["101", "010", "001"], "").querySelector(".qr-ink");
  equal(path.getAttribute("d"), "M4 4h1v1h-1zM6 4h1v1h-1zM5 5h1v1h-1zM6 6h1v1h-1z");
});

test("The code has the white border of four modules that readers need, on all sides", () => {
  const image = qrImage(Array(21).fill("1".repeat(21)), "");
  equal(image.getAttribute("viewBox"), "0 0 29 29");
  const paper = image.querySelector(".qr-paper");
  equal([paper.getAttribute("width"), paper.getAttribute("height")], ["29", "29"]);
  const places = [...image.querySelector(".qr-ink").getAttribute("d").matchAll(/M(\d+) (\d+)/g)].flatMap(([, x, y]) => [Number(x), Number(y)]);
  equal([Math.min(...places), Math.max(...places)], [4, 24]);
});

test("Who cannot see the code hears what it is for", () => {
  const image = qrImage(["1"], "Code to pay \"here\"");
  equal([image.getAttribute("role"), image.getAttribute("aria-label")], ["img", "Code to pay \"here\""]);
});
