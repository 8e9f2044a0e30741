// Every word the page says. A further language is one more object with the same keys; `{name}` is filled in by `t`,
// and a function takes the values where the grammar needs it. What the terminal says itself (reasons, refusals) comes
// with its answers.

const english = {
  app: {
    name: "Till",
    skip: "Skip to content",
    opening: "Opening the terminal’s page",
    unreachable: "The terminal cannot be reached",
    unreachableDetail: "Check that it is switched on and that this device is in the same network. This page keeps trying.",
    tryNow: "Try now",
  },
  nav: { label: "Main", charge: "Charge", history: "History", settings: "Settings", signOut: "Sign out" },
  link: {
    lost: "No connection to the terminal. Reconnecting… A running charge goes on there.",
    back: "Connected to the terminal again.",
  },
  notice: {
    label: "Payments that came by themselves",
    late: "Paid late: {amount}, code {code}, {time}.",
    paidTwice: "Paid twice: {amount}, code {code}, {time}. Give one payment back.",
    more: ({ count }) => (count === 1 ? "1 more like this" : `${count} more like these`),
    show: "Show",
    seen: "Seen",
  },
  gateway: {
    unknown: "Gateway: not checked yet",
    ready: "Gateway: ready",
    unreachable: "Gateway: not reachable",
    refused: "Gateway: key refused",
    unreachableHint: "The gateway cannot be reached. A charge would fail at the moment. Check the network.",
    refusedHint: "The gateway does not accept this terminal’s key or merchant ID. Ask the owner to check the settings.",
  },
  claim: {
    title: "Claim this terminal",
    lead: "Whoever can see its screen may claim it. Type the code from the screen and choose a password for the owner.",
    code: "Claim code",
    codeHelp: "It is on the terminal’s screen. It changes every few minutes.",
    password: "Owner password",
    button: "Claim",
    busy: "Claiming…",
    certificate: "Did your browser warn about the certificate?",
    certificateDetail:
      "The terminal made its own certificate, so no outside company vouches for it. Compare the fingerprint your browser shows with the one on the terminal’s screen. If they differ, stop: something stands between you and the terminal.",
    codeMissing: "Type the code from the terminal’s screen.",
    alreadyClaimed: "This terminal has been claimed meanwhile. Sign in, or ask the owner.",
  },
  password: {
    label: "Password",
    show: "Show password",
    hide: "Hide password",
    showSecret: "Show {name}",
    hideSecret: "Hide {name}",
    help: "At least 8 characters. 15 or more is better: four or five unrelated words are easy to remember.",
    tooShort: ({ missing }) => (missing === 1 ? "1 character more" : `${missing} characters more`),
    fair: "Good enough. 15 or more is better.",
    good: "Good length.",
    tooLong: "Too long: 64 characters at most.",
    missing: "Type your password.",
    tooShortError: "This password is too short. Use at least 8 characters.",
  },
  login: {
    title: "Sign in",
    lead: "Sign in to charge and to see payments.",
    ended: "Your session has ended. Sign in to go on where you were. A running charge goes on meanwhile.",
    button: "Sign in",
    busy: "Signing in…",
  },
  wait: { tryAgainIn: "Try again in {time}." },
  settings: {
    setupTitle: "Set up the terminal",
    setupLead: "A few facts, then you can charge. You find the IDs and the key where you signed up with your operator and the gateway.",
    title: "Settings",
    shop: "Your shop",
    ids: "Who is paid",
    gateway: "Gateway",
    merchantName: "Merchant name",
    merchantNameHelp: "What customers read on the screen and in their wallet.",
    currency: "Currency",
    locale: "Way of writing amounts",
    operatorID: "Operator ID",
    operatorIDHelp: "Who runs the service for you.",
    merchantID: "Merchant ID",
    merchantIDHelp: "Your name at the gateway. Payments go to this merchant.",
    gatewayURL: "Gateway address",
    gatewayURLHelp: "Starts with https://",
    gatewayKey: "Gateway key",
    gatewayKeyHelp: "Stored encrypted on the terminal and never shown again.",
    gatewayKeySet: "A key is stored. Leave this empty to keep it.",
    chargeLimit: "Largest charge (optional)",
    chargeLimitHelp: "Guards against a slip of the finger. Empty means no limit.",
    chargeLimitError: "Write the amount with digits only, for example {example}.",
    hourlyLimit: "Limit of an hour (optional)",
    hourlyLimitHelp: "Counts all charges but those that ended unpaid. Empty means no limit.",
    password: "Your password",
    passwordHelp: "Needed because the gateway’s address or key changes.",
    test: "Test connection",
    testing: "Asking the gateway…",
    testOK: "The gateway answers ({milliseconds} ms)",
    testFailed: "The gateway does not accept this",
    saveFirst: "Save and start",
    save: "Save changes",
    saving: "Saving…",
    saved: "Saved. The terminal uses the new settings at once.",
    problems: ({ count }) => (count === 1 ? "One field needs another look." : `${count} fields need another look.`),
    nothingSaved: "Nothing was saved. What you typed is still here.",
    changedAt: "Last changed {time}",
    loadFailed: "The settings could not be loaded.",
    choose: "Choose…",
    common: "Common",
    all: "All",
  },
  keypad: {
    title: "Charge",
    amount: "Amount",
    keys: "Keypad",
    clear: "Clear",
    backspace: "Delete last digit",
    doubleZero: "Double zero",
    reference: "Reference (optional)",
    button: "Charge {amount}",
    buttonEmpty: "Enter an amount",
    busy: "Opening the charge…",
    retrying: "The terminal does not answer. Asking again for the same charge: it cannot become two.",
    noAnswer: "The terminal has not answered yet",
    noAnswerDetail: "Whether the charge of {amount} was opened is not known. Look at the terminal’s screen. Trying again is safe: it cannot become two charges.",
    tryAgain: "Try again",
    giveUp: "Do not charge",
    notOpened: "Not charged",
    starting: ({ count }) =>
      count === 0 ? "The terminal is starting. One moment." :
      count === 1 ? "The terminal is checking 1 earlier payment before it takes new charges." :
      `The terminal is checking ${count} earlier payments before it takes new charges.`,
    busyElsewhere: "Another charge was already running. Here it is.",
    tooLong: "That is the longest amount this keypad takes.",
  },
  charge: {
    codeLabel: "Code",
    referenceLabel: "Reference",
    timeLeft: "{time} left",
    timeOver: "Time is over. Asking the gateway for its last word.",
    timeLeftHeard: ({ seconds }) => (seconds >= 60 ? "One minute left." : `${seconds} seconds left.`),
    compare: "The customer sees the same code.",
    cancel: "Cancel charge",
    cancelling: "Cancelling: waiting for the gateway’s answer.",
    cancelTitle: "Cancel this charge?",
    cancelText: "{amount} will be taken back at the gateway. Should the customer have paid already, the terminal says so.",
    cancelYes: "Yes, cancel",
    cancelNo: "Keep waiting",
    release: "Go on without an answer",
    releaseTitle: "Go on without an answer?",
    releaseText: "Whether {amount} was paid is not known. The charge stays “not known yet”; the terminal keeps asking and shows the outcome in the history. Do not charge the customer again before you know.",
    releaseYes: "Go on",
    releaseNo: "Keep waiting",
    background: "The terminal keeps asking in the background. The outcome will stand here and in the history.",
    newCharge: "New charge",
    nextCustomer: "Next customer",
    again: "Charge {amount} again",
    details: "Details",
    actionFailed: "That did not work",
    gone: "The last charge could not be found any more.",
  },
  state: {
    created: { title: "Opening the charge", word: "Opening", what: "The gateway is making the payment." },
    requiresAction: { title: "Waiting for the customer", word: "Waiting", what: "The customer scans the code on the terminal’s screen." },
    processing: { title: "Payment in progress", word: "In progress", what: "The customer approved. Please wait; do not charge again." },
    succeeded: { title: "Paid", word: "Paid", what: "The gateway has confirmed the payment." },
    late: { title: "Paid", word: "Paid late", what: "" },
    failed: { title: "Not paid", word: "Not paid", what: "The payment failed. No money moved." },
    expired: { title: "Time is up", word: "Time is up", what: "Not paid: the time to pay ran out. No money moved." },
    cancelled: { title: "Cancelled", word: "Cancelled", what: "Not paid: the charge was cancelled. No money moved." },
    unknown: { title: "Not known yet", word: "Not known yet", what: "Nobody could say yet whether this was paid.", todo: "Do not charge again." },
  },
  history: {
    title: "History",
    last: "Last charges",
    lastOne: "Last charge",
    all: "All charges",
    filter: "Show",
    filters: { all: "All", succeeded: "Paid", unknown: "Not known yet", failed: "Not paid", expired: "Time is up", cancelled: "Cancelled" },
    empty: "No charges yet.",
    emptyHint: "Each charge stands here as soon as it is opened.",
    emptyFilter: "No charge like that.",
    more: "Show older charges",
    loading: "Loading…",
    failed: "The charges could not be loaded.",
    today: "Today",
    yesterday: "Yesterday",
    heard: "{state}, {amount}, {time}",
    withReference: "reference {reference}",
    choose: "Choose a charge to see what is known of it.",
    back: "All charges",
  },
  detail: {
    title: "Charge {code}",
    opened: "Opened",
    deadline: "Time to pay until",
    merchant: "Merchant",
    code: "Code",
    reference: "Reference",
    amount: "Amount",
    id: "Charge ID",
    evidence: "Evidence",
    noEvidence: "There is none yet. It stands here once the gateway has given its word.",
    facts: "Facts",
    meaning: "What it means",
    toCharge: "Show the running charge",
    copy: "Copy {name}",
    copied: "Copied",
    evidenceNames: {
      paymentID: "Payment ID", transactionID: "Transaction", paidAmountText: "Paid", paidAt: "Paid at", network: "Network",
      account: "Account", receivedAt: "Received", settledAt: "Settled at",
    },
  },
  trouble: {
    title: "Something went wrong",
    refused: "The terminal refused this (answer {status}).",
    noAnswer: "The terminal did not answer.",
    noAnswerAction: "Check the connection and try again.",
    retry: "Try again",
    unexpected: "This page hit a fault of its own. Money is not touched by it.",
    reload: "Reload the page",
  },
};

/** Languages by BCP 47 primary tag. */
const LANGUAGES = { en: english };

let current = english;

/** Uses the first of `tags` that there is a language for; English otherwise. Returns its tag. */
export function useLanguage(tags) {
  const tag = tags.map((name) => name.split("-")[0].toLowerCase()).find((name) => LANGUAGES[name]) ?? "en";
  current = LANGUAGES[tag];
  return tag;
}

/** The words for `key` (`"keypad.button"`), with `{name}` filled in from `values`. */
export function t(key, values = {}) {
  const words = find(key);
  if (words === undefined) {
    console.error(`no words for ${key}`);
    return key;
  }
  if (typeof words === "function") return words(values);
  return words.replace(/\{(\w+)\}/g, (whole, name) => (name in values ? String(values[name]) : whole));
}

/** True where there are words for `key`. */
export function hasWords(key) { return find(key) !== undefined; }

function find(key) {
  return key.split(".").reduce((branch, name) => (branch && Object.hasOwn(branch, name) ? branch[name] : undefined), current);
}
