// The terminal's events for all tabs of this browser over one connection. A browser has six to a host: where each tab held one, the seventh
// did not load, and charging and cancelling hung in the others. The tab that holds a Web Lock has the stream, and passes on what it hears by
// a BroadcastChannel. It is a tab that is looked at where there is one: browsers freeze the others.

const NAME = "till.events";
/** A tab that nobody has looked at for so long lets go of the stream, before the browser freezes it with the connection. */
const REST_AFTER_MILLISECONDS = 60_000;
/** Whoever has the stream answers at once. One that does not is frozen or gone. */
const ANSWER_MILLISECONDS = 1_000;
/** The events of the stream that are passed on. */
const PASSED_ON = ["open", "ping", "terminal"];

/**
 * An `EventSource` as far as a tab needs one: `open`, `ping`, `terminal` and `error` are dispatched, whichever tab has the connection. A
 * `terminal` event that was said before this tab came has `ageMilliseconds`.
 */
export class SharedStream extends EventTarget {
  #address;
  #page;
  #channel = null;
  #source = null;
  /** Gives the lock back; null where this tab does not have it. */
  #giveBack = null;
  /** Takes the place in the queue back; null where there is none. */
  #queued = null;
  #isClosed = false;
  #restTimer = null;
  #answerTimer = null;
  /** What the terminal said last, for tabs that come: its text, and when it came by this tab's steady clock. */
  #last = null;

  /** @param page Whose visibility counts. */
  constructor(address, page = document) {
    super();
    [this.#address, this.#page] = [address, page];
    // Neither is there outside of secure contexts: then each tab has a stream of its own, as long as it is looked at.
    if (navigator.locks && globalThis.BroadcastChannel) {
      this.#channel = new BroadcastChannel(NAME);
      this.#channel.addEventListener("message", this.#heard);
    }
    page.addEventListener("visibilitychange", this.#turned);
    this.#begin();
    if (!this.#isVisible) this.#turned();
  }

  /** Whether this tab has the connection. */
  get leads() { return this.#source !== null; }

  /** Stops listening; the stream goes to another tab. */
  close() {
    this.#isClosed = true;
    this.#page.removeEventListener("visibilitychange", this.#turned);
    this.#rest();
    this.#channel?.close();
    this.#channel = null;
  }

  get #isVisible() { return this.#page.visibilityState === "visible"; }

  // MARK: Whose turn it is

  #begin() {
    if (!this.#channel) {
      if (!this.#source && this.#isVisible) this.#open();
      return;
    }
    this.#queue();
    this.#ask();
  }

  /** Waits for the lock, and has the stream as long as it holds it. */
  #queue({ steal = false } = {}) {
    if (this.#giveBack || this.#queued && !steal) return;
    this.#queued?.abort();
    const place = new AbortController();
    this.#queued = place;
    const held = () => {
      if (this.#queued !== place) return undefined;  // Given up meanwhile.
      this.#queued = null;
      return new Promise((resolve) => {
        this.#giveBack = resolve;
        clearTimeout(this.#answerTimer);
        this.#open();
      });
    };
    navigator.locks.request(NAME, steal ? { steal } : { signal: place.signal }, held).catch(() => {
      // Taken back by this tab, or taken by one that heard nothing from here.
      if (this.#queued === place) this.#queued = null;
      if (!this.#giveBack || place.signal.aborted) return;
      this.#letGo();
      if (!this.#isClosed) this.#queue();
    });
  }

  /** Asks whoever has the stream what the terminal said last. Where nobody answers, takes it. */
  #ask() {
    if (this.#giveBack) return;
    clearTimeout(this.#answerTimer);
    this.#channel.postMessage({ kind: "ask", isVisible: this.#isVisible });
    this.#answerTimer = setTimeout(() => {
      if (!this.#giveBack && !this.#isClosed && this.#isVisible) this.#queue({ steal: true });
    }, ANSWER_MILLISECONDS);
  }

  #letGo() {
    this.#source?.close();
    this.#source = null;
    this.#giveBack?.();
    this.#giveBack = null;
  }

  #rest() {
    for (const timer of [this.#restTimer, this.#answerTimer]) clearTimeout(timer);
    this.#queued?.abort();
    this.#queued = null;
    this.#letGo();
  }

  /** To a tab that is looked at; this one is next after it. */
  #handOver() {
    this.#letGo();
    this.#queue();
  }

  #turned = () => {
    clearTimeout(this.#restTimer);
    if (this.#isVisible) {
      this.#begin();
      return;
    }
    if (!this.#channel) {
      this.#rest();
      return;
    }
    this.#restTimer = setTimeout(() => this.#rest(), REST_AFTER_MILLISECONDS);
    if (this.#giveBack) this.#channel.postMessage({ kind: "hidden" });
  };

  // MARK: What is heard

  #open() {
    this.#source = new EventSource(this.#address);
    for (const name of PASSED_ON) {
      this.#source.addEventListener(name, ({ data }) => {
        if (name === "terminal") this.#last = { data, at: performance.now() };
        this.#channel?.postMessage({ kind: "event", name, data });
        this.#say(name, data);
      });
    }
    this.#source.addEventListener("error", () => {
      this.#channel?.postMessage({ kind: "error" });
      this.dispatchEvent(new Event("error"));
    });
  }

  #say(name, data, ageMilliseconds = 0) {
    this.dispatchEvent(Object.assign(new MessageEvent(name, { data }), { ageMilliseconds }));
  }

  #heard = ({ data: { kind, name, data, isVisible, ageMilliseconds } }) => {
    if (kind === "ask") {
      if (this.#giveBack) this.#answer(isVisible);
      return;
    }
    if (kind === "hidden") {
      // The one that has the stream is not looked at any more, and this one is.
      if (this.#isVisible) this.#channel.postMessage({ kind: "ask", isVisible: true });
      return;
    }
    clearTimeout(this.#answerTimer);
    if (this.#giveBack) return;  // The last words of the one before.
    if (kind === "error") this.dispatchEvent(new Event("error"));
    else if (name) this.#say(name, data, ageMilliseconds);
  };

  #answer(isVisible) {
    const last = this.#last;
    this.#channel.postMessage(last
      ? { kind: "event", name: "terminal", data: last.data, ageMilliseconds: performance.now() - last.at }
      : { kind: "event", name: "ping", data: "{}" });
    if (isVisible && !this.#isVisible) this.#handOver();
  }
}
