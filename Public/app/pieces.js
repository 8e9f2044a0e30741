// A long file on its way to the terminal, piece after piece: it takes no more of the terminal's memory than one.

import { NoAnswer } from "./api.js";

/** `begin({ bytes })` and `add({ at, piece })` answer with how much has come; `onProgress` is told the percent. */
export async function sendInPieces(file, { begin, add }, onProgress) {
  let { pieceBytes, receivedBytes } = await begin({ bytes: file.size });
  while (receivedBytes < file.size) {
    onProgress(Math.floor(100 * receivedBytes / file.size));
    const piece = new Uint8Array(await file.slice(receivedBytes, receivedBytes + pieceBytes).arrayBuffer());
    const before = receivedBytes;
    ({ receivedBytes } = await add({ at: before, piece: base64(piece) }));
    if (receivedBytes <= before) throw new NoAnswer();
  }
  onProgress(100);
}

function base64(bytes) {
  let text = "";
  // In parts: a call takes only so many arguments.
  for (let place = 0; place < bytes.length; place += 8192) text += String.fromCharCode(...bytes.subarray(place, place + 8192));
  return btoa(text);
}
