// Fakes of the terminal, the clock and the page around a module.

import { afterwards, ownFetch, replace, settled } from "./harness.js";

/**
 * Replaces `fetch`. `answer({ method, path, body, headers, timeout })` returns `{ status, body, headers }`; a `body` that is no text
 * is sent as JSON. No answer is an exception; `breaksOff` is a connection lost within the body. Returns the list of requests.
 */
export function terminal(answer, world = globalThis) {
  const asked = [];
  replace(world.AbortSignal, "timeout", (milliseconds) => Object.assign(new AbortController().signal, { milliseconds }));
  replace(world, "fetch", async (address, { method, body, headers, signal, ...options }) => {
    const question = {
      method, path: address.replace(/^\/api\/v1/, ""), body: body === undefined ? undefined : JSON.parse(body), headers,
      timeout: signal.milliseconds, options,
    };
    asked.push(question);
    const { status = 200, body: said = {}, headers: more = {}, breaksOff = false } = await answer(question);
    const read = async () => {
      if (breaksOff) throw new TypeError("network error");
      return typeof said === "string" || said instanceof Blob ? said : JSON.stringify(said);
    };
    // A Response of the browser resolves in tasks of its own, which `settled` does not wait for.
    return { ok: status >= 200 && status < 300, status, headers: new Headers(more), text: read, blob: read };
  });
  return asked;
}

/** The last timer's ID. IDs are never used twice: a module may clear a timer of an earlier test. */
let last = 1_000_000;

/** Replaces timers, `Date.now` and `performance.now`. Time passes by `advance` only. */
export function clock(at = "2026-11-27T10:00:00Z", world = globalThis) {
  const start = Date.parse(at);
  let now = 0;
  const timers = new Map();
  const plan = (work, delay = 0, values = [], every = null) => {
    last += 1;
    timers.set(last, { due: now + Number(delay), work, values, every });
    return last;
  };
  replace(world, "setTimeout", (work, delay, ...values) => plan(work, delay, values));
  replace(world, "setInterval", (work, delay, ...values) => plan(work, delay, values, Number(delay)));
  replace(world, "clearTimeout", (id) => { timers.delete(id); });
  replace(world, "clearInterval", (id) => { timers.delete(id); });
  replace(world.Date, "now", () => start + now);
  replace(world.performance, "now", () => now);
  return {
    /** Milliseconds since the start. */
    get now() { return now; },
    /** Milliseconds until the next timer; null where there is none. */
    get next() { return timers.size === 0 ? null : Math.min(...[...timers.values()].map(({ due }) => due)) - now; },
    async advance(milliseconds) {
      const end = now + milliseconds;
      await settled();
      for (;;) {
        const [id, timer] = [...timers].filter(([, { due }]) => due <= end).sort(([, one], [, other]) => one.due - other.due)[0] ?? [];
        if (id === undefined) break;
        now = Math.max(now, timer.due);
        if (timer.every === null) timers.delete(id);
        else timer.due += timer.every;
        timer.work(...timer.values);
        await settled();
      }
      now = end;
    },
  };
}

/** Replaces Web Locks and broadcast channels by those of a browser that has the test's tabs alone. */
export function tabs(world = globalThis) {
  const locks = new Map();
  const grant = (lock) => {
    if (lock.holder || lock.waiting.length === 0) return;
    const place = lock.waiting.shift();
    lock.holder = place;
    Promise.resolve().then(place.held).then(place.resolve, place.reject).finally(() => {
      if (lock.holder === place) lock.holder = null;
      grant(lock);
    });
  };
  const request = (name, { signal, steal = false }, held) => new Promise((resolve, reject) => {
    const lock = locks.get(name) ?? { holder: null, waiting: [] };
    locks.set(name, lock);
    const place = { held, resolve, reject };
    if (steal) {
      lock.holder?.reject(new DOMException("stolen", "AbortError"));
      lock.holder = null;
      lock.waiting.unshift(place);
    } else {
      lock.waiting.push(place);
      signal?.addEventListener("abort", () => {
        const index = lock.waiting.indexOf(place);
        if (index < 0) return;
        lock.waiting.splice(index, 1);
        reject(signal.reason);
      });
    }
    grant(lock);
  });
  replace(world.navigator, "locks", { request });
  const channels = new Set();
  replace(world, "BroadcastChannel", class extends EventTarget {
    constructor(name) {
      super();
      this.name = name;
      channels.add(this);
    }

    postMessage(data) {
      for (const other of channels) {
        if (other === this || other.name !== this.name) continue;
        queueMicrotask(() => { if (channels.has(other)) other.dispatchEvent(new MessageEvent("message", { data: structuredClone(data) })); });
      }
    }

    close() { channels.delete(this); }
  });
}

/** Replaces `EventSource` and returns the list of opened streams; the test speaks by `says(event, data)` and `breaks()`. */
export function streams(world = globalThis) {
  tabs(world);
  const opened = [];
  replace(world, "EventSource", class extends EventTarget {
    constructor(address) {
      super();
      this.address = address;
      this.isOpen = true;
      opened.push(this);
    }

    close() { this.isOpen = false; }

    says(event, data) { this.dispatchEvent(new MessageEvent(event, { data: typeof data === "string" ? data : JSON.stringify(data) })); }

    breaks() { this.dispatchEvent(new Event("error")); }
  });
  return opened;
}

/** Puts a view into the document, where focus, dialogs and labels work, until the test is over. */
export function onPage(element) {
  document.getElementById("page").append(element);
  afterwards(() => element.remove());
  return element;
}

/** A frame for programs that begin at import. `body` is its content, `hash` the end of its address; `start(module)` imports one. */
export async function ownPage({ body = null, hash = "" } = {}) {
  const frame = document.createElement("iframe");
  frame.src = `/${hash}`;
  const loaded = new Promise((resolve) => frame.addEventListener("load", resolve, { once: true }));
  document.body.append(frame);
  afterwards(() => frame.remove());
  await loaded;
  const world = frame.contentWindow;
  world.addEventListener("error", (event) => dispatchEvent(new ErrorEvent("error", { error: event.error, message: event.message })));
  world.addEventListener("unhandledrejection", ({ reason }) => Promise.reject(reason));
  if (body !== null) world.document.body.innerHTML = body;
  const start = (module) => new Promise((resolve, reject) => {
    const script = world.document.createElement("script");
    Object.assign(script, { type: "module", src: module });
    script.addEventListener("load", resolve);
    script.addEventListener("error", () => reject(new Error(`${module} cannot be imported`)));
    world.document.head.append(script);
  });
  return { world, document: world.document, start };
}

/** Resolves when a dialog is closed and its caller has gone on. */
export async function gone(dialog) {
  while (dialog.isConnected) await settled();
  await settled();
}

/** Types into a field. */
export function fill(control, text) {
  control.value = text;
  control.dispatchEvent(new Event("input", { bubbles: true }));
}

/** Facts of the terminal's sources that the page has to agree with; see `facts` in test_modules.py. */
export async function facts() { return await (await ownFetch("/facts.json")).json(); }
