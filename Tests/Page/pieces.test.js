import { NoAnswer } from "/app/api.js";
import { sendInPieces } from "/app/pieces.js";
import { useLanguage } from "/app/strings.js";
import { equal, test, throws } from "./harness.js";

await useLanguage(["en"]);

/** A terminal that takes `bytes` in pieces of four; `take` says how much of a piece it keeps. */
function taker(bytes, { receivedBytes = 0, take = (piece) => piece.length } = {}) {
  const file = new Blob([Uint8Array.from({ length: bytes }, (_, index) => index % 256)]);
  const all = { file, begun: null, kept: [...Array(receivedBytes).keys()], progress: [] };
  all.ways = {
    begin: async (body) => { all.begun = body; return { pieceBytes: 4, receivedBytes: all.kept.length }; },
    add: async ({ at, piece }) => {
      equal(at, all.kept.length);
      const sent = [...atob(piece)].map((letter) => letter.charCodeAt(0));
      all.kept.push(...sent.slice(0, take(sent)));
      return { receivedBytes: all.kept.length };
    },
  };
  all.send = () => sendInPieces(all.file, all.ways, (percent) => all.progress.push(percent));
  return all;
}

test("A file arrives whole, piece after piece, and says how far it is", async () => {
  const all = taker(10);
  await all.send();
  equal([all.begun, all.kept, all.progress], [{ bytes: 10 }, [0, 1, 2, 3, 4, 5, 6, 7, 8, 9], [0, 40, 80, 100]]);
});

test("What the terminal has already is not sent again", async () => {
  const all = taker(10, { receivedBytes: 8 });
  await all.send();
  equal([all.kept.length, all.progress], [10, [80, 100]]);
});

test("Where the terminal kept a part of a piece the rest is sent", async () => {
  const all = taker(10, { take: (piece) => Math.min(3, piece.length) });
  await all.send();
  equal(all.kept, [0, 1, 2, 3, 4, 5, 6, 7, 8, 9]);
});

test("A terminal that takes nothing is not asked for ever", async () => {
  equal((await throws(taker(10, { take: () => 0 }).send)) instanceof NoAnswer, true);
});

test("A large piece keeps every byte", async () => {
  const bytes = Uint8Array.from({ length: 20_000 }, (_, index) => index * 7 % 256);
  let sent = "";
  await sendInPieces(new Blob([bytes]), { begin: async () => ({ pieceBytes: 50_000, receivedBytes: 0 }), add: async ({ piece }) => { sent = piece; return { receivedBytes: 20_000 }; } }, () => {});
  equal([...atob(sent)].every((letter, index) => letter.charCodeAt(0) === bytes[index]), true);
});

test("An empty file is there at once", async () => {
  const all = taker(0);
  await all.send();
  equal([all.kept, all.progress], [[], [100]]);
});
