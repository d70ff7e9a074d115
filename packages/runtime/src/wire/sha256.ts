import { createHash } from 'node:crypto';

/** SHA-256, 32 bytes. */
export function sha256(bytes: Uint8Array): Uint8Array {
  return createHash('sha256').update(bytes).digest();
}

/** SHA-256 of much, 32 bytes, computed aside: the event loop goes on meanwhile. */
export async function sha256Aside(bytes: Uint8Array<ArrayBuffer>): Promise<Uint8Array> {
  return new Uint8Array(await crypto.subtle.digest('SHA-256', bytes));
}
