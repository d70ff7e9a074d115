import { createHash, timingSafeEqual } from 'node:crypto';
import { AgentLightningError } from '@agentlightning/core';
import type { AttemptClaims, RevokedAttemptTokens } from '@agentlightning/core/protocol';
import { GatewayError } from '../gateway-error.ts';
import type { AttemptTokenVerifier } from '../gateway-options.ts';

/** Who calls: `open` where no key is asked for. */
export type Caller =
  | { readonly kind: 'admin' | 'api' | 'open' }
  /** An agent that speaks for one attempt and no other. */
  | { readonly kind: 'attempt'; readonly claims: AttemptClaims };

/** The keys of a gateway. */
export interface AccessOptions {
  readonly apiKey: string | null;
  readonly adminKey: string | null;
  readonly attemptTokens: AttemptTokenVerifier | null;
  readonly revokedTokens: RevokedAttemptTokens;
}

/** Where callers put their key: as OpenAI's clients do, as Anthropic's do, and as Azure's do. */
const keyHeaders: readonly string[] = ['authorization', 'x-api-key', 'api-key'];

/** Knows callers by their keys. */
export class Access {
  readonly #keys: readonly { readonly kind: 'admin' | 'api'; readonly digest: Buffer }[];
  readonly #tokens: AttemptTokenVerifier | null;
  readonly #revoked: RevokedAttemptTokens;

  /** @throws AgentLightningError CONFIG for a key that is empty, which everybody would have */
  constructor({ apiKey, adminKey, attemptTokens, revokedTokens }: AccessOptions) {
    if (apiKey === '' || adminKey === '') throw emptyKey(apiKey === '' ? 'apiKey' : 'adminKey');
    this.#keys = [
      ...(adminKey === null ? [] : [{ kind: 'admin' as const, digest: digest(adminKey) }]),
      ...(apiKey === null ? [] : [{ kind: 'api' as const, digest: digest(apiKey) }]),
    ];
    this.#tokens = attemptTokens;
    this.#revoked = revokedTokens;
  }

  /** Whether anybody is let in. */
  get isOpen(): boolean {
    return this.#keys.length === 0 && this.#tokens === null;
  }

  /** @throws GatewayError 401 for a wrong key, or none */
  async callerOf(headers: Headers): Promise<Caller> {
    if (this.isOpen) return { kind: 'open' };
    for (const name of keyHeaders) {
      const value = headers.get(name);
      if (value === null) continue;
      const given = value.replace(/^Bearer /i, '');
      const kind = this.#kindOf(given);
      if (kind !== null) return { kind };
      if (this.#tokens !== null && given.startsWith('aglat.')) return await this.#agentOf(this.#tokens, given);
    }
    throw refused('the request carries no key of this gateway');
  }

  #kindOf(given: string): 'admin' | 'api' | null {
    const bytes = digest(given);
    let kind: 'admin' | 'api' | null = null;
    // Every key is compared, whichever fits: time tells nothing of them.
    for (const key of this.#keys) if (timingSafeEqual(bytes, key.digest)) kind ??= key.kind;
    return kind;
  }

  async #agentOf(tokens: AttemptTokenVerifier, token: string): Promise<Caller> {
    try {
      const claims = await tokens.verify(token);
      await this.#revoked.assertNotRevoked(token);
      return { kind: 'attempt', claims };
    } catch (error) {
      const isRefusal = AgentLightningError.isInstance(error) && error.code === 'UNAUTHENTICATED';
      throw isRefusal ? refused(error.message.replace(/^\[\w+\] /, ''), error) : error;
    }
  }
}

/** Refuses who may call models, and nothing more. @throws GatewayError 403 */
export function assertAdmin(caller: Caller): void {
  if (caller.kind === 'admin') return;
  throw new GatewayError({
    code: 'PERMISSION_DENIED',
    httpStatus: 403,
    type: 'permission_error',
    message: 'this address is for those who run the gateway, and the request carries no admin key',
    remedy: 'Start the gateway with an admin key (`adminKey`, AGL_GATEWAY_ADMIN_KEY), and send that one.',
  });
}

/** Of equal length whatever the text is, so that comparing tells nothing of it. */
function digest(text: string): Buffer {
  return createHash('sha256').update(text).digest();
}

function emptyKey(name: string): AgentLightningError {
  return new AgentLightningError({
    code: 'CONFIG',
    message: `the gateway option \`${name}\` is empty`,
    remedy: 'Take a random one (`openssl rand -base64 32`), or null for none.',
  });
}

function refused(message: string, cause?: unknown): GatewayError {
  return new GatewayError({
    code: 'UNAUTHENTICATED',
    httpStatus: 401,
    type: 'authentication_error',
    message,
    remedy: 'Send the gateway’s key, or the token of the attempt, as `Authorization: Bearer` or `x-api-key`.',
    cause,
  });
}
