// The page asks the terminal while its own words are still on their way: this page has none before its one test fetches them.

import * as api from "/app/api.js";
import { useLanguage, wordsAreLoaded } from "/app/strings.js";
import { terminal } from "./fakes.js";
import { equal, settled, test } from "./harness.js";

test("An answer that is there before the page's words waits for them, and is said in them", async () => {
  terminal(() => ({ status: 422, body: { code: "failed", message: "English.", action: "" } }));
  let said = null;
  let isLoaded = false;
  api.charges({}).catch((error) => { said = error.message; });
  wordsAreLoaded().then(() => { isLoaded = true; });
  await settled();
  equal([said, isLoaded], [null, false]);
  await useLanguage(["de"]);
  await settled();
  equal([said === null, said === "English.", isLoaded], [false, false, true]);
});
