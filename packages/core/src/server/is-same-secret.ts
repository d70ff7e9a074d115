import { createHash, timingSafeEqual } from 'node:crypto';

/**
 * Whether a key of a request, or its digest, is the expected one. The duration depends on neither: digests of both, which have
 * one length, are compared in constant time.
 */
export function isSameSecret(sent: string, expected: string): boolean {
  return timingSafeEqual(sha256(sent), sha256(expected));
}

function sha256(text: string): Uint8Array {
  return createHash('sha256').update(text).digest();
}
