import * as z from 'zod';
import { AgentLightningError } from '../../base/agent-lightning-error.ts';
import { type Clock, systemClock } from '../../base/clock.ts';
import { defaultProject } from './access-rights.ts';

/** The permissions of a token: access to one attempt until it expires. */
export interface AttemptClaims {
  /** The project of the attempt. */
  readonly project: string;
  /** Id of the rollout. */
  readonly rolloutId: string;
  /** Id of the attempt. */
  readonly attemptId: string;
  /** Whether the bearer may record rewards; false when an evaluator records them. */
  readonly mayReward: boolean;
  /** When the token expires, in Unix milliseconds; a whole second. */
  readonly expiresAtMs: number;
}

/** Options of a new token. */
export interface AttemptTokenRequest {
  /** @default 'default' */
  readonly project?: string;
  /** Id of the rollout. */
  readonly rolloutId: string;
  /** Id of the attempt. */
  readonly attemptId: string;
  /** @default true */
  readonly mayReward?: boolean;
  /** Lifetime in milliseconds. @default 86400000 a day */
  readonly lifetimeMs?: number;
}

/** Options of {@link AttemptTokens}. */
export interface AttemptTokensOptions {
  /**
   * The signing secrets, each of at least 32 bytes. The first one signs, all verify: to rotate the secret, prepend the
   * new one, and remove the old one when its tokens have expired.
   */
  readonly secrets: readonly string[];
  /** Clock for the expiry of tokens. @default the system clock */
  readonly clock?: Clock;
}

/** The type has different names in Node and in browsers. */
type HmacKey = Awaited<ReturnType<typeof crypto.subtle.importKey>>;

interface SigningKey {
  readonly keyId: string;
  readonly key: HmacKey;
}

const prefix = 'aglat';
const minSecretBytes = 32;
const dayMs = 86_400_000;
const maxRemembered = 1000;
/** In characters; a token with the longest ids is shorter. */
const maxTokenLength = 2000;
const algorithm = { name: 'HMAC', hash: 'SHA-256' } as const;
const encoder = new TextEncoder();

/** Short names, because a token is part of every request. */
const payloadSchema = z.strictObject({
  r: z.string(),
  a: z.string(),
  x: z.int(),
  w: z.boolean(),
  p: z.string().optional(),
});

/**
 * Creates and verifies the credentials of agents: short texts that name one attempt, signed with HMAC-SHA-256. Tokens are
 * not stored: the secret suffices to verify them. Store and gateway share the secret, so that an agent needs one token for
 * both.
 *
 * @example
 * ```ts
 * const tokens = new AttemptTokens({ secrets: [secret] });
 * const token = await tokens.create({ rolloutId, attemptId });
 * const { attemptId } = await tokens.verify(token);
 * ```
 */
export class AttemptTokens {
  readonly #clock: Clock;
  readonly #keys: Promise<readonly SigningKey[]>;
  /** Verified tokens: a signature is computed once for all requests of an attempt. */
  readonly #verified = new Map<string, AttemptClaims>();

  /** @throws AgentLightningError CONFIG without a secret, or with one that is too short */
  constructor({ secrets, clock = systemClock }: AttemptTokensOptions) {
    assertSecrets(secrets);
    this.#clock = clock;
    this.#keys = Promise.all(secrets.map(importSecret));
  }

  /** Whether a key has the prefix of attempt tokens, valid or not. */
  static isAttemptToken(key: string): boolean {
    return key.startsWith(`${prefix}.`);
  }

  /**
   * The claims of a token without verification of its signature, for processes without a secret.
   *
   * @throws AgentLightningError UNAUTHENTICATED when it does not have the format of a token
   */
  static uncheckedClaims(token: string): AttemptClaims {
    const [start, keyId, payload, signature, ...rest] = token.split('.');
    const isComplete = start === prefix && keyId && payload && signature && rest.length === 0;
    if (!isComplete || token.length > maxTokenLength) throw invalidToken();
    return readPayload(payload);
  }

  /** Creates a token for an attempt. */
  async create(request: AttemptTokenRequest): Promise<string> {
    const { project = defaultProject, rolloutId, attemptId, mayReward = true, lifetimeMs = dayMs } = request;
    const [current] = await this.#keys;
    if (current === undefined) throw noSecret();
    const expirySeconds = Math.ceil((this.#clock.now() + lifetimeMs) / 1000);
    const payload = {
      r: rolloutId,
      a: attemptId,
      x: expirySeconds,
      w: mayReward,
      ...(project === defaultProject ? {} : { p: project }),
    };
    const signed = `${prefix}.${current.keyId}.${toBase64Url(encoder.encode(JSON.stringify(payload)))}`;
    const signature = await crypto.subtle.sign(algorithm, current.key, encoder.encode(signed));
    return `${signed}.${toBase64Url(new Uint8Array(signature))}`;
  }

  /**
   * Verifies a token and returns its claims. Signatures are compared in constant time.
   *
   * @throws AgentLightningError UNAUTHENTICATED when the token is invalid, was modified, or has expired
   */
  async verify(token: string): Promise<AttemptClaims> {
    const claims = this.#verified.get(token) ?? (await this.#check(token));
    if (claims.expiresAtMs <= this.#clock.now()) {
      this.#verified.delete(token);
      throw refused(`The token of attempt ${claims.attemptId} has expired`);
    }
    return claims;
  }

  async #check(token: string): Promise<AttemptClaims> {
    const [start, keyId, payload, signature, ...rest] = token.split('.');
    const key = (await this.#keys).find((known) => known.keyId === keyId)?.key;
    if (start !== prefix || key === undefined || payload === undefined || rest.length > 0) throw invalidToken();
    const mac = fromBase64Url(signature ?? '');
    const signed = encoder.encode(`${prefix}.${keyId}.${payload}`);
    if (mac === null || !(await crypto.subtle.verify(algorithm, key, mac, signed))) throw invalidToken();
    const claims = readPayload(payload);
    this.#remember(token, claims);
    return claims;
  }

  #remember(token: string, claims: AttemptClaims): void {
    this.#verified.set(token, claims);
    const [oldest] = this.#verified.keys();
    if (this.#verified.size > maxRemembered && oldest !== undefined) this.#verified.delete(oldest);
  }
}

function assertSecrets(secrets: readonly string[]): void {
  if (secrets.length === 0) throw noSecret();
  for (const secret of secrets) {
    const { length } = encoder.encode(secret);
    if (length >= minSecretBytes) continue;
    throw new AgentLightningError({
      code: 'CONFIG',
      message: `A secret for attempt tokens must have at least ${minSecretBytes} bytes, got ${length}`,
      remedy: 'Generate one: `openssl rand -base64 32`.',
    });
  }
}

/** The id of a key is derived from its secret with a one-way hash, so that it needs no configuration. */
async function importSecret(secret: string): Promise<SigningKey> {
  const bytes = encoder.encode(secret);
  const idOf = await crypto.subtle.digest('SHA-256', encoder.encode(`agentlightning key id ${secret}`));
  const key = await crypto.subtle.importKey('raw', bytes, algorithm, false, ['sign', 'verify']);
  return { keyId: toBase64Url(new Uint8Array(idOf).subarray(0, 6)), key };
}

/** The payload of a verified token: another shape is of a later version. */
function readPayload(payload: string): AttemptClaims {
  const read = payloadSchema.safeParse(jsonOf(fromBase64Url(payload)));
  if (!read.success) throw invalidToken();
  const { r: rolloutId, a: attemptId, w: mayReward, x: expirySeconds, p: project = defaultProject } = read.data;
  return { project, rolloutId, attemptId, mayReward, expiresAtMs: expirySeconds * 1000 };
}

function jsonOf(bytes: Uint8Array | null): unknown {
  try {
    return JSON.parse(new TextDecoder().decode(bytes ?? encoder.encode('null')));
  } catch {
    return null;
  }
}

function toBase64Url(bytes: Uint8Array): string {
  return btoa(String.fromCharCode(...bytes))
    .replaceAll('+', '-')
    .replaceAll('/', '_')
    .replaceAll('=', '');
}

/** Null for text that is not canonical base64url: one signature must have one encoding only. */
function fromBase64Url(text: string): Uint8Array<ArrayBuffer> | null {
  try {
    const binary = atob(text.replaceAll('-', '+').replaceAll('_', '/'));
    const bytes = Uint8Array.from(binary, (character) => character.charCodeAt(0));
    return toBase64Url(bytes) === text ? bytes : null;
  } catch {
    return null;
  }
}

function invalidToken(): AgentLightningError {
  return refused('The attempt token is invalid or was modified');
}

function refused(message: string): AgentLightningError {
  return new AgentLightningError({
    code: 'UNAUTHENTICATED',
    message,
    remedy: 'Send the unchanged token of the attempt before it expires.',
  });
}

function noSecret(): AgentLightningError {
  return new AgentLightningError({
    code: 'CONFIG',
    message: 'No secret for signing attempt tokens is configured',
    remedy: 'Generate one: `openssl rand -base64 32`.',
  });
}
