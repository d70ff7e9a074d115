import { z } from 'zod';
import { type Clock, systemClock } from '../clock.ts';
import { AgentLightningError } from '../errors/agent-lightning-error.ts';

/** What a token lets its bearer do: speak for one attempt, for a while. */
export interface AttemptClaims {
  readonly rolloutId: string;
  readonly attemptId: string;
  /** Whether the bearer may record rewards; not where rewards come from an evaluator. */
  readonly mayReward: boolean;
  /** From when on the token is worth nothing, in Unix milliseconds; a whole second. */
  readonly expiresAtMs: number;
}

/** What a token is asked for. */
export interface AttemptTokenRequest {
  readonly rolloutId: string;
  readonly attemptId: string;
  /** @default true */
  readonly mayReward?: boolean;
  /** How long it is good for, in milliseconds. @default 86400000 a day */
  readonly lifetimeMs?: number;
}

/** How attempt tokens are signed. */
export interface AttemptTokensOptions {
  /**
   * The secrets that sign, each of 32 bytes or more. The first one signs, every one verifies: to change it, put the
   * new one in front, and take the old one away when its tokens have expired.
   */
  readonly secrets: readonly string[];
  /** What time tokens expire by. @default the clock on the wall */
  readonly clock?: Clock;
}

/** Node and browsers know the type by different names. */
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

/** Short names: a token travels with every request. */
const payloadSchema = z.strictObject({ r: z.string(), a: z.string(), x: z.int(), w: z.boolean() });

/**
 * The keys of agents: each a short text, signed with HMAC-SHA-256, that names the one attempt its bearer speaks for.
 * Nobody has to keep them: whoever has the secret knows a true one. Store and gateway share the secret, so that an
 * agent needs one key for both.
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
  /** Signatures that were good, so that each is computed once rather than for every request of an attempt. */
  readonly #verified = new Map<string, AttemptClaims>();

  /** @throws AgentLightningError CONFIG when there is no secret, or one is too short */
  constructor({ secrets, clock = systemClock }: AttemptTokensOptions) {
    assertSecrets(secrets);
    this.#clock = clock;
    this.#keys = Promise.all(secrets.map(importSecret));
  }

  /** Whether a key is meant as an attempt's token, whatever it is worth. */
  static isAttemptToken(key: string): boolean {
    return key.startsWith(`${prefix}.`);
  }

  /**
   * The claims of a token without a check of its signature, for processes that have no secret.
   *
   * @throws AgentLightningError UNAUTHENTICATED when it has not the form of a token
   */
  static uncheckedClaims(token: string): AttemptClaims {
    const [start, keyId, payload, signature, ...rest] = token.split('.');
    const isComplete = start === prefix && keyId && payload && signature && rest.length === 0;
    if (!isComplete || token.length > maxTokenLength) throw notOurs();
    return readPayload(payload);
  }

  /** A new token for an attempt. */
  async create({ rolloutId, attemptId, mayReward = true, lifetimeMs = dayMs }: AttemptTokenRequest): Promise<string> {
    const [current] = await this.#keys;
    if (current === undefined) throw noSecret();
    const expirySeconds = Math.ceil((this.#clock.now() + lifetimeMs) / 1000);
    const payload = { r: rolloutId, a: attemptId, x: expirySeconds, w: mayReward };
    const signed = `${prefix}.${current.keyId}.${toBase64Url(encoder.encode(JSON.stringify(payload)))}`;
    const signature = await crypto.subtle.sign(algorithm, current.key, encoder.encode(signed));
    return `${signed}.${toBase64Url(new Uint8Array(signature))}`;
  }

  /**
   * What a token lets its bearer do. Comparing takes the same time for every wrong signature.
   *
   * @throws AgentLightningError UNAUTHENTICATED when it is not one of ours, was changed, or has expired
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
    if (start !== prefix || key === undefined || payload === undefined || rest.length > 0) throw notOurs();
    const mac = fromBase64Url(signature ?? '');
    const signed = encoder.encode(`${prefix}.${keyId}.${payload}`);
    if (mac === null || !(await crypto.subtle.verify(algorithm, key, mac, signed))) throw notOurs();
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
      message: `A secret for attempt tokens has ${length} bytes, and needs ${minSecretBytes} or more`,
      remedy: 'Take a random one: `openssl rand -base64 32`.',
    });
  }
}

/** The id of a key is taken from its secret, so that nobody has to give it one; it gives nothing away. */
async function importSecret(secret: string): Promise<SigningKey> {
  const bytes = encoder.encode(secret);
  const idOf = await crypto.subtle.digest('SHA-256', encoder.encode(`agentlightning key id ${secret}`));
  const key = await crypto.subtle.importKey('raw', bytes, algorithm, false, ['sign', 'verify']);
  return { keyId: toBase64Url(new Uint8Array(idOf).subarray(0, 6)), key };
}

/** Only what was signed gets here: another shape is one of a version to come. */
function readPayload(payload: string): AttemptClaims {
  const read = payloadSchema.safeParse(jsonOf(fromBase64Url(payload)));
  if (!read.success) throw notOurs();
  const { r: rolloutId, a: attemptId, w: mayReward, x: expirySeconds } = read.data;
  return { rolloutId, attemptId, mayReward, expiresAtMs: expirySeconds * 1000 };
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

/** Null for what is no base64url, or not the way we write it: a text that is not ours must not pass for one that is. */
function fromBase64Url(text: string): Uint8Array<ArrayBuffer> | null {
  try {
    const binary = atob(text.replaceAll('-', '+').replaceAll('_', '/'));
    const bytes = Uint8Array.from(binary, (character) => character.charCodeAt(0));
    return toBase64Url(bytes) === text ? bytes : null;
  } catch {
    return null;
  }
}

function notOurs(): AgentLightningError {
  return refused('The token of the attempt is not one of ours, or was changed on its way');
}

function refused(message: string): AgentLightningError {
  return new AgentLightningError({
    code: 'UNAUTHENTICATED',
    message,
    remedy: 'Send the token that the runner was given for the attempt, unchanged, while the attempt lasts.',
  });
}

function noSecret(): AgentLightningError {
  return new AgentLightningError({
    code: 'CONFIG',
    message: 'There is no secret to sign attempt tokens with',
    remedy: 'Give it a random one: `openssl rand -base64 32`.',
  });
}
