import { AgentLightningError } from '../../base/agent-lightning-error.ts';
import { type Clock, systemClock } from '../../base/clock.ts';

/** Options of {@link RevokedAttemptTokens}. */
export interface RevokedAttemptTokensOptions {
  /** Reads the digests of all revoked tokens that have not expired. */
  readonly read: () => Promise<readonly string[]>;
  /** @default the system clock */
  readonly clock?: Clock;
}

/** Maximum age of a list, in milliseconds. */
const maxAgeMs = 5000;

/** The revoked attempt tokens of a store, read at most every five seconds. A store server and a gateway have one each. */
export class RevokedAttemptTokens {
  readonly #read: () => Promise<readonly string[]>;
  readonly #clock: Clock;
  #digests: ReadonlySet<string> | null = null;
  #readAtMs = Number.NEGATIVE_INFINITY;
  #reading: Promise<void> | null = null;

  constructor({ read, clock = systemClock }: RevokedAttemptTokensOptions) {
    this.#read = read;
    this.#clock = clock;
  }

  /** @throws AgentLightningError UNAUTHENTICATED for a token that was revoked */
  async assertNotRevoked(token: string): Promise<void> {
    if (this.#clock.now() - this.#readAtMs >= maxAgeMs) {
      this.#reading ??= this.#refresh();
      await this.#reading;
    }
    if (this.#digests === null || this.#digests.size === 0) return;
    if (!this.#digests.has(await attemptTokenDigest(token))) return;
    throw new AgentLightningError({
      code: 'UNAUTHENTICATED',
      message: 'The token of the attempt was revoked',
      remedy: 'Request a new token for the attempt from the store.',
    });
  }

  async #refresh(): Promise<void> {
    try {
      this.#digests = new Set(await this.#read());
      this.#readAtMs = this.#clock.now();
    } catch (error) {
      // While the store is unavailable, the last list is used.
      if (this.#digests === null) throw error;
    } finally {
      this.#reading = null;
    }
  }
}

/** SHA-256 of a token in hex digits: revoked tokens are stored and listed by their digests. */
export async function attemptTokenDigest(token: string): Promise<string> {
  const digest = await crypto.subtle.digest('SHA-256', new TextEncoder().encode(token));
  return Array.from(new Uint8Array(digest), (byte) => byte.toString(16).padStart(2, '0')).join('');
}
