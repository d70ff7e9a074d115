import { createHash, randomBytes } from 'node:crypto';

/** The roles of stored keys. Those of attempts are signed tokens, which are not stored. */
export const keyRoles = ['admin', 'trainer', 'worker', 'viewer', 'ingest', 'feedback'] as const;

/**
 * The role of a stored access key. `worker`: claim rollouts, update attempts, record spans, and everything else that
 * runners and gateways need. `viewer`: read everything. `trainer`: both, and enqueue, publish resources, manage runs.
 * `feedback`: record feedback on traces of production, and nothing else. `ingest`: also record such traces.
 * `admin`: also delete, and export and import runs. `roleRights` of `@agentlightning/core/protocol` is the full table.
 */
export type KeyRole = (typeof keyRoles)[number];

/** The record of an access key, without the key. */
export interface AccessKey {
  /** Id of the key. */
  readonly keyId: string;
  /** The holder, as named by the creator of the key. */
  readonly name: string;
  /** The role of the key. */
  readonly role: KeyRole;
  /** The only project that it is for; null for all projects: of the role `admin`. */
  readonly project: string | null;
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
  readonly role: KeyRole;
  /** The project, which is created with its first key. Keys of the role `admin` are for all. @default 'default' */
  readonly project?: string;
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
