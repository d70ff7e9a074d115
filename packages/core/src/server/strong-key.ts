import { createHash, timingSafeEqual } from 'node:crypto';
import { AgentLightningError } from '../base/agent-lightning-error.ts';
import { isLoopback } from './is-loopback.ts';

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

/** The fewest characters of a key that other machines can try. */
const minLength = 12;

/** A key that a server is protected by. */
export interface ServerKey {
  /** The server, which starts the error message: `the store`. */
  readonly what: string;
  readonly host: string;
  /** The variable or option with the key. */
  readonly option: string;
}

/**
 * Rejects a short key of a server that other machines can reach: they could guess it.
 *
 * @throws AgentLightningError CONFIG
 */
export function assertStrongKey(key: string | null | undefined, { what, host, option }: ServerKey): void {
  if (!key || key.length >= minLength || isLoopback(host)) return;
  throw new AgentLightningError({
    code: 'CONFIG',
    message: `${what} at ${host} can be reached from other machines, and its key has ${key.length} characters only`,
    remedy: `Set a random key of at least ${minLength} characters in ${option} (\`openssl rand -base64 32\`), or listen at 127.0.0.1.`,
  });
}
