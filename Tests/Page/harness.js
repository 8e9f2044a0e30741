// The test harness of one page module. `test_modules.py` imports it, then the tests, and runs each test by its name.

const LIMIT_MILLISECONDS = 60_000;
const native = { setTimeout: globalThis.setTimeout.bind(globalThis), clearTimeout: globalThis.clearTimeout.bind(globalThis) };

const tests = new Map();
let isClosed = false;
let checks = 0;
let problems = [];
let undos = [];

class Failure extends Error {}

/** Declares a test. `name` is the promise that it checks. */
export function test(name, fn) {
  if (isClosed) throw new Failure(`"${name}" is declared inside a test, or after the module was imported: it would never run`);
  if (tests.has(name)) throw new Failure(`two tests are called "${name}"`);
  tests.set(name, fn);
}

/** Asserts that two values are equal; lists and objects are compared by content. */
export function equal(actual, expected) {
  checks += 1;
  const [seen, wanted] = [show(actual), show(expected)];
  if (seen !== wanted) throw new Failure(`expected ${wanted}\nactual   ${seen}`);
}

/** Asserts that `fn` throws or its promise is rejected; resolves with the error. The caller awaits it. */
export async function throws(fn) {
  checks += 1;
  try {
    await fn();
  } catch (error) {
    return error;
  }
  throw new Failure("expected an error\nactual   none");
}

/** Registers a cleanup, called when the test has passed or failed. */
export function afterwards(undo) { undos.push(undo); }

/** Replaces a property until the test is over. */
export function replace(object, name, value) {
  const before = Object.getOwnPropertyDescriptor(object, name);
  Object.defineProperty(object, name, { value, configurable: true, writable: true });
  afterwards(() => (before ? Object.defineProperty(object, name, before) : delete object[name]));
}

/** Resolves when the queue of microtasks is empty. Works under a fake clock, too. */
export function settled() {
  return new Promise((resolve) => {
    // Nested timers are delayed to 4 ms by the browser; messages are not.
    const { port1, port2 } = new MessageChannel();
    port1.onmessage = () => { port1.close(); resolve(); };
    port2.postMessage(null);
  });
}

/** The text form that values are compared by. Invisible characters are escaped. */
function show(value) {
  if (typeof value === "string") return JSON.stringify(value).replace(/[^\x20-\x7e]/gu, (sign) => (/[\p{L}\p{N}\p{Sc}]/u.test(sign) ? sign : `\\u{${sign.codePointAt(0).toString(16)}}`));
  if (typeof value === "bigint") return `${value}n`;
  if (Object.is(value, -0)) return "-0";
  if (value === null || typeof value !== "object") return String(value);
  if (typeof value.outerHTML === "string") return value.outerHTML;
  if (value instanceof Error) return `${value.name}: ${value.message}`;
  if (Symbol.iterator in value) return `[${[...value].map(show).join(", ")}]`;
  return `{ ${Object.keys(value).sort().map((name) => `${name}: ${show(value[name])}`).join(", ")} }`;
}

/** The error's message, below the lines of the test file in its stack. */
function described(error) {
  const lines = [...String(error?.stack).matchAll(/([\w-]+\.test\.js):(\d+)/g)].map(([, file, line]) => `${file}:${line}`);
  const words = error instanceof Failure ? error.message : error?.stack ?? `thrown: ${show(error)}`;
  return `${[...new Set(lines)].join(" < ") || "no line"}\n${words}`;
}

/** Rejects where `work` never settles. */
export function inTime(work) {
  return new Promise((resolve, reject) => {
    const timer = native.setTimeout(() => reject(new Failure("does not end")), LIMIT_MILLISECONDS);
    work.then(resolve, reject).finally(() => native.clearTimeout(timer));
  });
}

/** Ends the declarations and returns the names of the tests. */
export function close() {
  isClosed = true;
  return [...tests.keys()];
}

/** Runs one test and returns its failures as texts. */
export async function run(name) {
  [checks, undos] = [0, []];
  try {
    await inTime((async () => tests.get(name)())());
    if (checks === 0) throw new Failure("asserts nothing");
  } catch (error) {
    problems.push(described(error));
  }
  for (const undo of undos.reverse()) {
    try {
      await undo();
    } catch (error) {
      problems.push(described(error));
    }
  }
  // The browser reports an unhandled rejection in a task of its own.
  await new Promise((resolve) => native.setTimeout(resolve, 0));
  await settled();
  const found = problems;
  problems = [];
  return found;
}

// Failures outside of the test function count, too: unhandled rejections, errors in listeners, missing words.
addEventListener("error", ({ error, message }) => problems.push(described(error ?? message)));
addEventListener("unhandledrejection", ({ reason }) => problems.push(described(reason)));
console.error = (...words) => problems.push(described(new Failure(`the module complains: ${words.join(" ")}`)));

// No module reaches a network.
const nobody = (what) => () => { throw new Failure(`the module uses ${what}, and the test has replaced none`); };
/** The browser's own `fetch`. */
export const ownFetch = globalThis.fetch.bind(globalThis);
globalThis.fetch = nobody("fetch");
globalThis.EventSource = nobody("EventSource");
