/** Marks texts that were written by {@link sealedReasoning}. */
const sealPrefix = 'agl.';

/** Thoughts as the opaque text that clients keep and send back when they do not see, or store, the thoughts. */
export function sealedReasoning(text: string): string {
  return sealPrefix + Buffer.from(text, 'utf8').toString('base64url');
}

/** The thoughts in an opaque text; null when it is not one of ours. */
export function unsealedReasoning(sealed: string | null): string | null {
  if (sealed?.startsWith(sealPrefix) !== true) return null;
  return Buffer.from(sealed.slice(sealPrefix.length), 'base64url').toString('utf8');
}
