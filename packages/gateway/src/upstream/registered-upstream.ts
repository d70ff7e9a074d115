import type { Upstream } from '../gateway-options.ts';
import { CallSlots } from './call-slots.ts';
import { seedOf } from './rendezvous.ts';
import { type TokenSupport, UpstreamHealth } from './upstream-health.ts';

/** How many failures in a row make an upstream count as down. */
const failuresUntilDown = 3;

/** An upstream that calls may go to, with what is known of it since it was registered. */
export class RegisteredUpstream implements Upstream {
  readonly id: string;
  readonly baseUrl: string;
  readonly model: string | null;
  readonly names: readonly string[];
  readonly agents: readonly string[];
  readonly apiKey: string | null;
  readonly headers: Readonly<Record<string, string>>;
  readonly healthPath: string;
  /** Where its share of the rollouts comes from. */
  readonly seed: number;
  readonly slots: CallSlots;
  readonly health: UpstreamHealth = new UpstreamHealth(failuresUntilDown);
  /** Requests without a first byte that can be sent to another upstream, and when they were sent, the oldest first. */
  readonly waiting: Map<AbortController, number> = new Map();
  /** Whether it returns token ids, as its responses showed. */
  tokenSupport: TokenSupport = 'unknown';
  /** The APIs that it said it does not have, when it was asked in them. */
  readonly lackedApis: Set<string> = new Set();
  /** Aborts when it is registered no more. */
  readonly removed: AbortController = new AbortController();
  readonly #given: Upstream;

  /** @param upstream - with a base URL that was checked */
  constructor(upstream: Upstream) {
    this.#given = upstream;
    this.baseUrl = upstream.baseUrl;
    this.model = upstream.model ?? null;
    this.names = upstream.names ?? [];
    this.agents = upstream.agents ?? [];
    this.id = upstream.id ?? (this.model === null ? this.baseUrl : `${this.model}@${this.baseUrl}`);
    this.apiKey = upstream.apiKey ?? null;
    this.headers = upstream.headers ?? {};
    this.healthPath = upstream.healthPath ?? 'models';
    this.seed = seedOf(this.id);
    this.slots = new CallSlots({
      maxConcurrent: upstream.maxConcurrent ?? null,
      maxQueued: upstream.maxQueued ?? 256,
    });
  }

  /** What it was registered with. */
  get given(): Upstream {
    return this.#given;
  }

  /** `text` also when it has refused to be asked for tokens. */
  get capture(): 'tokens' | 'text' {
    return this.tokenSupport === 'refused' ? 'text' : (this.#given.capture ?? 'tokens');
  }

  /** A text without the secrets that the upstream is called with, which it may repeat. */
  withoutSecrets(text: string): string {
    let clean = text;
    for (const secret of [this.apiKey, ...Object.values(this.headers)]) {
      // Shorter texts, such as a flag, are no secrets, and stand in many words.
      if (secret !== null && secret.length >= 6) clean = clean.replaceAll(secret, '***');
    }
    return clean;
  }
}
