import { createHash, randomBytes } from 'node:crypto';

/** What a key may do, from the most to the least: each may do what those after it may. */
export const accessScopes = ['admin', 'trainer', 'runner'] as const;

/**
 * What a key may do. `runner`: claim rollouts, report on them, record spans, and what else runners and gateways
 * need. `trainer`: also enqueue, read everything, publish resources, keep runs. `admin`: also delete, and carry runs
 * away and in.
 */
export type AccessScope = (typeof accessScopes)[number];

/** A key as the store knows it: everything but the key. */
export interface AccessKey {
  readonly keyId: string;
  /** Who has it, in words of whoever made it. */
  readonly name: string;
  readonly scope: AccessScope;
  /** In Unix milliseconds. */
  readonly createTimeMs: number;
  /** From when on it is worth nothing, in Unix milliseconds; null for never. */
  readonly expireTimeMs: number | null;
  /** When it was revoked, in Unix milliseconds; null when it was not. */
  readonly revokeTimeMs: number | null;
}

/** What a key is asked for. */
export interface AccessKeyRequest {
  /** Who is to have it. */
  readonly name: string;
  readonly scope: AccessScope;
  /** How long it is good for, in milliseconds. @default null for ever */
  readonly lifetimeMs?: number | null;
}

/** A key that was just made. */
export interface NewAccessKey {
  /** The key itself, which is told this once: the store keeps only its digest. */
  readonly key: string;
  readonly record: AccessKey;
}

/** A key's record with the digest of the key. */
export interface StoredAccessKey {
  readonly record: AccessKey;
  /** SHA-256 of the key, as hex digits. */
  readonly digest: string;
}

const pattern = /^aglk_([0-9a-f]{12})_[\w-]{43}$/;

/** A new key and its id, which is part of it. The rest are 256 random bits. */
export function newAccessKey(): { readonly keyId: string; readonly key: string } {
  const keyId = randomBytes(6).toString('hex');
  return { keyId, key: `aglk_${keyId}_${randomBytes(32).toString('base64url')}` };
}

/** The id that a key has in it; null for what is no key of a store. */
export function keyIdOf(key: string): string | null {
  return pattern.exec(key)?.[1] ?? null;
}

/**
 * What is kept of a key. One round of SHA-256 is enough: slow hashes are for what people choose and others guess, and
 * nobody guesses 256 random bits.
 */
export function digestOf(key: string): string {
  return createHash('sha256').update(key).digest('hex');
}
