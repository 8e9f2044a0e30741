// The customer's own page: keeps what it says true. The page is whole without this file; every link in it is finished before
// anybody can tap it, and no tap waits for anything here.

const EVERY_MILLISECONDS = 2_000;
const PATIENCE_MILLISECONDS = 8_000;

const heard = document.getElementById("heard");
const lost = document.getElementById("lost");
let main = document.getElementById("pay");
let deadline = endOfTime();
let timer = null;
let isAsking = false;

/** When the time shown is over, by this phone's own monotonic clock; null where no time runs. */
function endOfTime() {
  const seconds = Number(document.getElementById("left")?.dataset.seconds ?? NaN);
  return Number.isFinite(seconds) ? performance.now() + seconds * 1000 : null;
}

function showTime() {
  const left = document.getElementById("left");
  if (!left || deadline === null) return;
  const seconds = Math.max(0, Math.ceil((deadline - performance.now()) / 1000));
  left.textContent = `${Math.floor(seconds / 60)}:${String(seconds % 60).padStart(2, "0")}`;
}

/** Takes what the terminal says now. What has not changed stays as it is: a finger may be on it. */
function take(next) {
  if (next.dataset.version !== main.dataset.version) {
    const isOpen = document.getElementById("second")?.open === true;
    const focused = document.activeElement?.closest?.("#pay a")?.getAttribute("href");
    const title = next.querySelector("h1")?.textContent ?? "";
    const isNews = title !== main.querySelector("h1")?.textContent;
    main.replaceWith(next);
    main = next;
    const second = document.getElementById("second");
    if (second) second.open = isOpen;
    [...main.querySelectorAll("a")].find((anchor) => anchor.getAttribute("href") === focused)?.focus({ preventScroll: true });
    if (isNews) {
      heard.textContent = title;
      window.scrollTo(0, 0);
    }
  } else {
    const [ours, theirs] = [main, next].map((place) => place.querySelector("#left"));
    if (ours && theirs) ours.dataset.seconds = theirs.dataset.seconds;
  }
  deadline = endOfTime();
  showTime();
}

async function look() {
  if (isAsking || main.hasAttribute("data-over")) return;
  isAsking = true;
  clearTimeout(timer);
  let pause = EVERY_MILLISECONDS;
  try {
    const answer = await fetch(location.pathname, {
      cache: "no-store", credentials: "omit", redirect: "error", signal: AbortSignal.timeout(PATIENCE_MILLISECONDS),
    });
    if (answer.status === 429) {
      pause = 1000 * Math.max(1, Number(answer.headers.get("Retry-After")) || 1);
    } else if (answer.ok || answer.status === 404) {
      const said = new DOMParser().parseFromString(await answer.text(), "text/html");
      const next = said.getElementById("pay");
      if (!next) throw new TypeError("not this page");
      document.title = said.title;
      take(document.adoptNode(next));
      lost.hidden = true;
    } else {
      lost.hidden = false;
    }
  } catch {
    lost.hidden = false;
  } finally {
    isAsking = false;
    // Nothing asks for a page that nobody looks at.
    if (!main.hasAttribute("data-over") && document.visibilityState === "visible") timer = setTimeout(look, pause);
  }
}

// Back from the wallet: what happened meanwhile is asked at once.
document.addEventListener("visibilitychange", () => { if (document.visibilityState === "visible") look(); });
addEventListener("pageshow", (event) => { if (event.persisted) look(); });
addEventListener("online", look);
setInterval(showTime, 500);
timer = setTimeout(look, EVERY_MILLISECONDS);
