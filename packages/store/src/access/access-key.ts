import { createHash, randomBytes } from 'node:crypto';

/** Scopes of access keys, from most to least privileged: each includes those after it. */
export const accessScopes = ['admin', 'trainer', 'runner'] as const;

/**
 * The scope of an access key. `runner`: claim rollouts, update attempts, record spans, and everything else that
 * runners and gateways need. `trainer`: also enqueue, read everything, publish resources, manage runs. `admin`: also
 * delete, and export and import runs.
 */
export type AccessScope = (typeof accessScopes)[number];

/** The record of an access key, without the key. */
export interface AccessKey {
  readonly keyId: string;
  /** The holder, as named by the creator of the key. */
  readonly name: string;
  readonly scope: AccessScope;
  /** In Unix milliseconds. */
  readonly createTimeMs: number;
  /** Expiry in Unix milliseconds; null for never. */
  readonly expireTimeMs: number | null;
  /** Time of revocation in Unix milliseconds; null when it is not revoked. */
  readonly revokeTimeMs: number | null;
}

/** A request to create an access key. */
export interface AccessKeyRequest {
  /** The holder. */
  readonly name: string;
  readonly scope: AccessScope;
  /** Lifetime in milliseconds. @default null unlimited */
  readonly lifetimeMs?: number | null;
}

/** A newly created access key. */
export interface NewAccessKey {
  /** The key, which is returned only once: the store keeps its digest. */
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

/** Generates a key of its id and 256 random bits. */
export function newAccessKey(): { readonly keyId: string; readonly key: string } {
  const keyId = randomBytes(6).toString('hex');
  return { keyId, key: `aglk_${keyId}_${randomBytes(32).toString('base64url')}` };
}

/** The id within a key; null when the text is not an access key. */
export function keyIdOf(key: string): string | null {
  return pattern.exec(key)?.[1] ?? null;
}

/**
 * The stored digest of a key. SHA-256 is sufficient: slow hashes protect guessable passwords, not 256 random bits.
 */
export function digestOf(key: string): string {
  return createHash('sha256').update(key).digest('hex');
}
