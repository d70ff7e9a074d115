import { timingSafeEqual } from 'node:crypto';
import { AgentLightningError, type Clock } from '@agentlightning/core';
import { AttemptTokens } from '@agentlightning/core/protocol';
import { digestOf, keyIdOf, type StoredAccessKey } from '../../access/access-key.ts';
import type { Bearer } from './bearer.ts';

/** Where a gatekeeper looks keys up. */
export interface KeyDirectory {
  findAccessKey(keyId: string): Promise<StoredAccessKey | null>;
  hasAccessKeys(): Promise<boolean>;
}

/** What a gatekeeper knows people by. */
export interface GatekeeperOptions {
  readonly keys: KeyDirectory;
  /** A key that may do everything and is in no list; null for none. */
  readonly apiKey: string | null;
  /** What tokens of attempts are checked with; null where there are none. */
  readonly attemptTokens: AttemptTokens | null;
  readonly clock: Clock;
}

/** How long what the list of keys says is taken as it is, in milliseconds. */
const freshMs = 5000;

/** Tells from the key of a request who sent it. Keys that are made or revoked are known within five seconds. */
export class Gatekeeper {
  readonly #options: GatekeeperOptions;
  readonly #apiKeyDigest: string | null;
  readonly #known = new Map<string, { readonly stored: StoredAccessKey; readonly readAtMs: number }>();
  /** Whether keys are asked for. Never false again once it was true: revoking the last key opens nothing. */
  #isLocked: boolean;
  #lookedAtMs = Number.NEGATIVE_INFINITY;
  #looking: Promise<void> | null = null;

  constructor(options: GatekeeperOptions) {
    this.#options = options;
    this.#apiKeyDigest = options.apiKey === null ? null : digestOf(options.apiKey);
    this.#isLocked = options.apiKey !== null;
  }

  /** Whether requests need a key: one was given, or one was ever made. */
  async isLocked(): Promise<boolean> {
    if (!this.#isLocked && this.#options.clock.now() - this.#lookedAtMs >= freshMs) {
      this.#looking ??= this.#look();
      await this.#looking;
    }
    return this.#isLocked;
  }

  /**
   * Who sent a request with such an `Authorization` header. Comparing takes the same time for every wrong key.
   *
   * @throws AgentLightningError UNAUTHENTICATED
   */
  async bearerOf(authorization: string | undefined): Promise<Bearer> {
    const key = keyIn(authorization ?? '');
    const { attemptTokens } = this.#options;
    const isToken = key !== undefined && AttemptTokens.isAttemptToken(key);
    if (isToken && attemptTokens !== null) return { kind: 'agent', claims: await attemptTokens.verify(key) };
    if (!(await this.isLocked())) return { kind: 'anyone' };
    if (key === undefined) throw unauthenticated('The request carries no key');
    if (isToken) throw unknownSecret();
    const digest = digestOf(key);
    if (this.#apiKeyDigest !== null && isSame(digest, this.#apiKeyDigest)) {
      return { kind: 'key', keyId: 'AGL_STORE_KEY', scope: 'admin' };
    }
    return this.#listed(key, digest);
  }

  async #listed(key: string, digest: string): Promise<Bearer> {
    const keyId = keyIdOf(key);
    const stored = keyId === null ? null : await this.#find(keyId);
    if (stored === null || !isSame(digest, stored.digest)) throw unauthenticated('The key of the request is wrong');
    const { name, scope, expireTimeMs, revokeTimeMs } = stored.record;
    if (revokeTimeMs !== null) throw unauthenticated(`The key ${stored.record.keyId} (${name}) was revoked`);
    if (expireTimeMs !== null && expireTimeMs <= this.#options.clock.now()) {
      throw unauthenticated(`The key ${stored.record.keyId} (${name}) has expired`);
    }
    return { kind: 'key', keyId: stored.record.keyId, scope };
  }

  async #find(keyId: string): Promise<StoredAccessKey | null> {
    const nowMs = this.#options.clock.now();
    const known = this.#known.get(keyId);
    if (known !== undefined && nowMs - known.readAtMs < freshMs) return known.stored;
    const stored = await this.#options.keys.findAccessKey(keyId);
    // Only keys that exist are stored, so that made-up ones fill no memory.
    if (stored !== null) this.#known.set(keyId, { stored, readAtMs: nowMs });
    return stored;
  }

  async #look(): Promise<void> {
    try {
      this.#isLocked = await this.#options.keys.hasAccessKeys();
      this.#lookedAtMs = this.#options.clock.now();
    } finally {
      this.#looking = null;
    }
  }
}

/**
 * The key in an `Authorization` header: a bearer's, or the password of a basic one. Clients that know of no keys,
 * such as that of the Python package, send the latter when their URL has a password.
 */
function keyIn(authorization: string): string | undefined {
  const [, scheme = '', credentials = ''] = /^(Bearer|Basic) (.+)$/i.exec(authorization) ?? [];
  if (scheme.toLowerCase() !== 'basic') return credentials === '' ? undefined : credentials;
  const decoded = Buffer.from(credentials, 'base64').toString('utf8');
  return decoded.includes(':') ? decoded.slice(decoded.indexOf(':') + 1) : undefined;
}

/** Both are hex digits of SHA-256, and so of one length. */
function isSame(left: string, right: string): boolean {
  return timingSafeEqual(Buffer.from(left), Buffer.from(right));
}

function unknownSecret(): AgentLightningError {
  return new AgentLightningError({
    code: 'UNAUTHENTICATED',
    message: 'The request carries the token of an attempt, and this store has no secret to check it with',
    remedy: 'Start the store with the AGL_TOKEN_SECRET that the token was signed with.',
  });
}

function unauthenticated(message: string): AgentLightningError {
  return new AgentLightningError({
    code: 'UNAUTHENTICATED',
    message,
    remedy: 'Send a key of the store as `Authorization: Bearer <key>`; `agl store keys create` makes one.',
  });
}
