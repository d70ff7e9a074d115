/// <reference lib="es2024.arraybuffer" />

/**
 * Gives the memory of bytes back, unless there is more in it. It lies outside of the heap and counts for it all the same:
 * with copies of every body lying about, all of the heap was searched for garbage every forty batches of spans.
 */
export function letGo({ buffer, byteLength }: Uint8Array): void {
  if (buffer instanceof ArrayBuffer && buffer.byteLength === byteLength) buffer.transfer(0);
}
