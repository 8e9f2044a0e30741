import { icon, mark } from "/app/icons.js";
import { equal, test, throws } from "./harness.js";

test("An icon is drawn, and hidden from who hears the page: words stand beside it", () => {
  for (const drawing of [icon("check"), mark()]) equal([drawing.querySelectorAll("path").length > 0, drawing.getAttribute("aria-hidden")], [true, "true"]);
});

test("Icons that point along the line of reading can be mirrored, and no others", () => {
  const points = ["left", "right", "signOut", "check", "history", "backspace"].map((name) => icon(name).classList.contains("icon-points"));
  equal(points, [true, true, true, false, false, false]);
});

test("An icon that nobody drew is an error and not an empty place", async () => {
  equal((await throws(() => icon("unicorn"))).name, "TypeError");
});
