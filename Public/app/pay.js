// The customer's own page: keeps what it says true. The page is whole without this file; every link in it is finished before
// anybody can tap it, and no tap waits for anything here.

// Each so many times the whole page is asked for: its seconds put this phone's own clock right, which stops while it sleeps.
const WHOLE_EVERY = 5;
const PATIENCE_MILLISECONDS = 8_000;

const heard = document.getElementById("heard");
const lost = document.getElementById("lost");
const ended = document.getElementById("ended");
let main = document.getElementById("pay");
let deadline = endOfTime();
let timer = null;
let isAsking = false;
let asked = 0;

/** Milliseconds until the terminal wants to be asked again; 0 where nothing more will be said. */
function pace() { return 1000 * (Number(main.dataset.again) || 0); }

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
    if (next.dataset.again) main.dataset.again = next.dataset.again;
    const [ours, theirs] = [main, next].map((place) => place.querySelector("#left"));
    if (ours && theirs) ours.dataset.seconds = theirs.dataset.seconds;
  }
  deadline = endOfTime();
  showTime();
}

/** The link is void. How the payment ended stays to be read; what was still open is not shown as open any more. */
function end(next, title) {
  if (!main.hasAttribute("data-over")) {
    document.title = title;
    take(next);
    return;
  }
  delete main.dataset.again;
  ended.hidden = false;
}

async function look({ whole = true } = {}) {
  if (isAsking || pace() === 0) return;
  isAsking = true;
  clearTimeout(timer);
  asked += 1;
  let pause = 0;
  try {
    const answer = await fetch(location.pathname, {
      cache: "no-store", credentials: "omit", redirect: "error", signal: AbortSignal.timeout(PATIENCE_MILLISECONDS),
      headers: whole || asked % WHOLE_EVERY === 0 ? {} : { "If-None-Match": `"${main.dataset.version}"` },
    });
    if (answer.status === 304) {
      lost.hidden = true;
    } else if (answer.status === 429) {
      pause = 1000 * Math.max(1, Number(answer.headers.get("Retry-After")) || 1);
    } else if (answer.ok || answer.status === 404) {
      const said = new DOMParser().parseFromString(await answer.text(), "text/html");
      const next = said.getElementById("pay");
      if (!next) throw new TypeError("not this page");
      if (answer.ok) {
        document.title = said.title;
        take(document.adoptNode(next));
      } else {
        end(document.adoptNode(next), said.title);
      }
      lost.hidden = true;
    } else {
      lost.hidden = false;
    }
  } catch {
    lost.hidden = false;
  } finally {
    isAsking = false;
    // Nothing asks for a page that nobody looks at.
    again(Math.max(pause, pace()));
  }
}

function again(pause) {
  if (pace() > 0 && document.visibilityState === "visible") timer = setTimeout(look, pause, { whole: false });
}

// Back from the wallet: what happened meanwhile is asked at once.
document.addEventListener("visibilitychange", () => { if (document.visibilityState === "visible") look(); });
addEventListener("pageshow", (event) => { if (event.persisted) look(); });
addEventListener("online", () => look());
setInterval(showTime, 500);
again(pace());
