import { AgentLightningError, type Clock } from '@agentlightning/core';
import { AttemptTokens, defaultProject, isSameSecret, RevokedAttemptTokens } from '@agentlightning/core/protocol';
import { digestOf, keyIdOf, type StoredAccessKey } from '../../access/access-key.ts';
import type { Bearer } from './bearer.ts';

/** Lookup of access keys. */
export interface KeyDirectory {
  findAccessKey(keyId: string): Promise<StoredAccessKey | null>;
  hasAccessKeys(): Promise<boolean>;
}

/** Authenticator options. */
export interface AuthenticatorOptions {
  readonly keys: KeyDirectory;
  /** The digests of the revoked attempt tokens of a project. */
  readonly revokedTokens: (project: string) => Promise<readonly string[]>;
  /** An additional admin key; null for none. */
  readonly apiKey: string | null;
  /** An additional key of the role worker, for the default project; null for none. */
  readonly workerKey: string | null;
  /** Verifies attempt tokens; null when they are disabled. */
  readonly attemptTokens: AttemptTokens | null;
  readonly clock: Clock;
}

/** Cache lifetime of access keys in milliseconds. */
const keyCacheMs = 5000;

/** Authenticates requests. Created and revoked keys take effect within five seconds. */
export class Authenticator {
  readonly #options: AuthenticatorOptions;
  readonly #configured: readonly { readonly digest: string; readonly bearer: Bearer }[];
  /** By project. */
  readonly #revoked = new Map<string, RevokedAttemptTokens>();
  readonly #known = new Map<string, { readonly stored: StoredAccessKey; readonly readAtMs: number }>();
  /** Whether keys are required. Once true, it stays true: revoking the last key does not disable authentication. */
  #isLocked: boolean;
  #lookedAtMs = Number.NEGATIVE_INFINITY;
  #looking: Promise<void> | null = null;

  constructor(options: AuthenticatorOptions) {
    this.#options = options;
    const { apiKey, workerKey } = options;
    const admin: Bearer = { kind: 'key', keyId: 'AGL_STORE_KEY', role: 'admin', project: null };
    const worker: Bearer = { kind: 'key', keyId: 'AGL_WORKER_KEY', role: 'worker', project: defaultProject };
    this.#configured = [
      ...(apiKey === null ? [] : [{ digest: digestOf(apiKey), bearer: admin }]),
      ...(workerKey === null ? [] : [{ digest: digestOf(workerKey), bearer: worker }]),
    ];
    this.#isLocked = this.#configured.length > 0;
  }

  /** Whether requests need a key: one was configured or ever created. */
  async isLocked(): Promise<boolean> {
    if (!this.#isLocked && this.#options.clock.now() - this.#lookedAtMs >= keyCacheMs) {
      this.#looking ??= this.#look();
      await this.#looking;
    }
    return this.#isLocked;
  }

  /**
   * Authenticates an `Authorization` header. Keys are compared in constant time.
   *
   * @throws AgentLightningError UNAUTHENTICATED
   */
  async bearerOf(authorization: string | undefined): Promise<Bearer> {
    const key = keyIn(authorization ?? '');
    const { attemptTokens } = this.#options;
    const isToken = key !== undefined && AttemptTokens.isAttemptToken(key);
    if (isToken && attemptTokens !== null) {
      const claims = await attemptTokens.verify(key);
      await this.#revokedOf(claims.project).assertNotRevoked(key);
      return { kind: 'agent', claims };
    }
    if (!(await this.isLocked())) return { kind: 'anyone' };
    if (key === undefined) throw unauthenticated('The request has no key');
    if (isToken) throw unknownSecret();
    const digest = digestOf(key);
    const configured = this.#configured.find((each) => isSameSecret(digest, each.digest));
    return configured?.bearer ?? (await this.#listed(key, digest));
  }

  #revokedOf(project: string): RevokedAttemptTokens {
    const { revokedTokens, clock } = this.#options;
    const known = this.#revoked.get(project) ?? new RevokedAttemptTokens({ read: () => revokedTokens(project), clock });
    this.#revoked.set(project, known);
    return known;
  }

  async #listed(key: string, digest: string): Promise<Bearer> {
    const keyId = keyIdOf(key);
    const stored = keyId === null ? null : await this.#find(keyId);
    if (stored === null || !isSameSecret(digest, stored.digest))
      throw unauthenticated('The key of the request is wrong');
    const { name, role, project, expireTimeMs, revokeTimeMs } = stored.record;
    if (revokeTimeMs !== null) throw unauthenticated(`The key ${stored.record.keyId} (${name}) was revoked`);
    if (expireTimeMs !== null && expireTimeMs <= this.#options.clock.now()) {
      throw unauthenticated(`The key ${stored.record.keyId} (${name}) has expired`);
    }
    return { kind: 'key', keyId: stored.record.keyId, role, project };
  }

  async #find(keyId: string): Promise<StoredAccessKey | null> {
    const nowMs = this.#options.clock.now();
    const known = this.#known.get(keyId);
    if (known !== undefined && nowMs - known.readAtMs < keyCacheMs) return known.stored;
    const stored = await this.#options.keys.findAccessKey(keyId);
    // Only existing keys are cached: invalid ones must not consume memory.
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
 * The key in an `Authorization` header: a bearer token, or a basic password. Clients without bearer authentication,
 * such as the Python package, send the latter when their URL has a password.
 */
function keyIn(authorization: string): string | undefined {
  const [, scheme = '', credentials = ''] = /^(Bearer|Basic) (.+)$/i.exec(authorization) ?? [];
  if (scheme.toLowerCase() !== 'basic') return credentials === '' ? undefined : credentials;
  const decoded = Buffer.from(credentials, 'base64').toString('utf8');
  return decoded.includes(':') ? decoded.slice(decoded.indexOf(':') + 1) : undefined;
}

/** Compares SHA-256 hex digests, which have equal length. */
function unknownSecret(): AgentLightningError {
  return new AgentLightningError({
    code: 'UNAUTHENTICATED',
    message: 'The request has an attempt token, and this store has no secret to check it with',
    remedy: 'Start the store with the AGL_TOKEN_SECRET that the token was signed with.',
  });
}

function unauthenticated(message: string): AgentLightningError {
  return new AgentLightningError({
    code: 'UNAUTHENTICATED',
    message,
    remedy: 'Send a key of the store as `Authorization: Bearer <key>`; `agl keys create` creates one.',
  });
}
