import { AgentLightningError } from '@agentlightning/core';
import {
  type AccessRight,
  type AccessRole,
  type AttemptClaims,
  isSameSecret,
  type RevokedAttemptTokens,
  roleRights,
} from '@agentlightning/core/protocol';
import { GatewayError } from '../wire/gateway-error.ts';
import type { AttemptTokenVerifier, KeyAuthenticator } from '../wire/gateway-options.ts';

/** The authenticated caller: `api` with the gateway's own key, `worker` with one of a worker, `open` when no key is required. */
export type Caller =
  | { readonly kind: 'admin' | 'api' | 'worker' | 'viewer' | 'ingest' | 'feedback' | 'open' }
  /** An agent, authorised for one attempt. */
  | { readonly kind: 'attempt'; readonly claims: AttemptClaims };

/** Credentials that a gateway accepts. */
export interface AccessOptions {
  readonly apiKey: string | null;
  readonly adminKey: string | null;
  readonly attemptTokens: AttemptTokenVerifier | null;
  readonly keys: KeyAuthenticator | null;
  readonly revokedTokens: RevokedAttemptTokens;
}

/** Headers that may contain the key: those of the OpenAI, Anthropic and Azure clients. */
const keyHeaders: readonly string[] = ['authorization', 'x-api-key', 'api-key'];

/** Authenticates callers by key or attempt token. */
export class Access {
  readonly #keys: readonly { readonly kind: 'admin' | 'api'; readonly key: string }[];
  readonly #tokens: AttemptTokenVerifier | null;
  readonly #others: KeyAuthenticator | null;
  readonly #revoked: RevokedAttemptTokens;

  /** @throws AgentLightningError CONFIG for an empty key */
  constructor({ apiKey, adminKey, attemptTokens, keys, revokedTokens }: AccessOptions) {
    if (apiKey === '' || adminKey === '') throw emptyKey(apiKey === '' ? 'apiKey' : 'adminKey');
    this.#keys = [
      ...(adminKey === null ? [] : [{ kind: 'admin' as const, key: adminKey }]),
      ...(apiKey === null ? [] : [{ kind: 'api' as const, key: apiKey }]),
    ];
    this.#tokens = attemptTokens;
    this.#others = keys;
    this.#revoked = revokedTokens;
  }

  /** Whether no key is required. */
  get isOpen(): boolean {
    return this.#keys.length === 0 && this.#tokens === null && this.#others === null;
  }

  /** Whether agents have attempt tokens. */
  get hasTokens(): boolean {
    return this.#tokens !== null;
  }

  /** @throws GatewayError 401 for a missing or unknown key */
  async callerOf(headers: Headers): Promise<Caller> {
    if (this.isOpen) return { kind: 'open' };
    for (const name of keyHeaders) {
      const value = headers.get(name);
      if (value === null) continue;
      const presented = value.replace(/^Bearer /i, '');
      const kind = this.#kindOf(presented);
      if (kind !== null) return { kind };
      if (this.#tokens !== null && presented.startsWith('aglat.')) return await this.#agentOf(this.#tokens, presented);
      const role = (await this.#others?.roleOf(presented)) ?? null;
      if (role !== null) return { kind: kindOfRole(role) };
    }
    throw unauthenticated('the request has no valid key of this gateway');
  }

  #kindOf(key: string): 'admin' | 'api' | null {
    let kind: 'admin' | 'api' | null = null;
    // Every key is compared, even after a match, so that the duration does not depend on the key.
    for (const known of this.#keys) if (isSameSecret(key, known.key)) kind ??= known.kind;
    return kind;
  }

  async #agentOf(tokens: AttemptTokenVerifier, token: string): Promise<Caller> {
    try {
      const claims = await tokens.verify(token);
      await this.#revoked.assertNotRevoked(token);
      return { kind: 'attempt', claims };
    } catch (error) {
      const isInvalid = AgentLightningError.isInstance(error) && error.code === 'UNAUTHENTICATED';
      throw isInvalid ? unauthenticated(error.message.replace(/^\[\w+\] /, ''), error) : error;
    }
  }
}

/** The roles of callers. */
const roles: Readonly<Record<Caller['kind'], AccessRole>> = {
  admin: 'admin',
  api: 'worker',
  worker: 'worker',
  open: 'worker',
  viewer: 'viewer',
  ingest: 'ingest',
  feedback: 'feedback',
  attempt: 'attempt',
};

function kindOfRole(role: AccessRole): Exclude<Caller['kind'], 'attempt'> {
  if (role === 'attempt') return 'viewer';
  return role === 'trainer' ? 'worker' : role;
}

/** Requires a right. @throws GatewayError 403 for callers whose role does not have it */
export function assertRight(caller: Caller, right: AccessRight): void {
  const role = roles[caller.kind];
  if (roleRights[role].includes(right)) return;
  throw new GatewayError({
    code: 'PERMISSION_DENIED',
    httpStatus: 403,
    type: 'permission_error',
    message: `a key with the role ${role} may not call this route`,
    remedy: 'Send a key with a role that has the right: `agl keys create` creates one.',
  });
}

/** Requires the admin key. @throws GatewayError 403 for other callers */
export function assertAdmin(caller: Caller): void {
  if (caller.kind === 'admin') return;
  throw new GatewayError({
    code: 'PERMISSION_DENIED',
    httpStatus: 403,
    type: 'permission_error',
    message: 'this route requires the admin key of the gateway',
    remedy: 'Send the admin key; set it with the gateway option `adminKey` or AGL_GATEWAY_ADMIN_KEY.',
  });
}

function emptyKey(name: string): AgentLightningError {
  return new AgentLightningError({
    code: 'CONFIG',
    message: `the gateway option \`${name}\` is empty`,
    remedy: 'Set a random key (`openssl rand -base64 32`), or null for none.',
  });
}

function unauthenticated(message: string, cause?: unknown): GatewayError {
  return new GatewayError({
    code: 'UNAUTHENTICATED',
    httpStatus: 401,
    type: 'authentication_error',
    message,
    remedy: 'Send the gateway’s key, or the token of the attempt, as `Authorization: Bearer` or `x-api-key`.',
    cause,
  });
}
