import type { Upstream } from '../wire/gateway-options.ts';
import { CallSlots } from './call-slots.ts';
import { FirstByteTimes } from './first-byte-times.ts';
import { seedOf } from './rendezvous.ts';
import { LearnedDialect } from './request-dialect.ts';

/** Consecutive failures after which an upstream is down. */
const failuresUntilDown = 3;

/** A registered upstream and its state. */
export class RegisteredUpstream implements Upstream {
  readonly id: string;
  readonly baseUrl: string;
  readonly model: string | null;
  readonly names: readonly string[];
  readonly agents: readonly string[];
  readonly runs: readonly string[];
  readonly versions: readonly string[];
  readonly apiKey: string | null;
  readonly headers: Readonly<Record<string, string>>;
  readonly healthPath: string;
  /** Candidate for rendezvous hashing. */
  readonly seed: number;
  readonly slots: CallSlots;
  readonly health: UpstreamHealth = new UpstreamHealth(failuresUntilDown);
  /** Requests without a first byte that can be sent to another upstream, and when they were sent, the oldest first. */
  readonly waiting: Map<AbortController, number> = new Map();
  /** Whether it returns token ids, as its responses showed. */
  tokenSupport: TokenSupport = 'unknown';
  readonly firstByteTimes: FirstByteTimes = new FirstByteTimes();
  /** How it was found to accept requests. */
  readonly dialect: LearnedDialect = new LearnedDialect();
  /** Whether conversations are continued by token ids there: until it turns out to ignore or refuse them. */
  continuesTokens = true;
  /** Refusals of its key, as `onRejectedKey` reports them. */
  keyRejections = 0;
  /** APIs that it was found to lack. */
  readonly lackedApis: Set<string> = new Set();
  /** Aborted when it is removed. */
  readonly removed: AbortController = new AbortController();
  readonly #given: Upstream;

  /** @param upstream - with a validated base URL */
  constructor(upstream: Upstream) {
    this.#given = upstream;
    this.baseUrl = upstream.baseUrl;
    this.model = upstream.model ?? null;
    this.names = upstream.names ?? [];
    this.agents = upstream.agents ?? [];
    this.runs = upstream.runs ?? [];
    this.versions = upstream.versions ?? [];
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

  /** The options it was registered with. */
  get given(): Upstream {
    return this.#given;
  }

  /** `text` also after it has rejected all requests for token ids. */
  get capture(): 'tokens' | 'text' {
    return this.dialect.hasNoTokens ? 'text' : (this.#given.capture ?? 'tokens');
  }

  /** Redacts the credentials of the upstream, which it may repeat. */
  withoutSecrets(text: string): string {
    let clean = text;
    for (const secret of [this.apiKey, ...Object.values(this.headers)]) {
      // Shorter values, such as a flag, are not secrets and occur within other words.
      if (secret !== null && secret.length >= 6) clean = clean.replaceAll(secret, '***');
    }
    return clean;
  }
}

/** Whether an upstream returns the token ids that training needs. */
type TokenSupport = 'unknown' | 'given' | 'missing' | 'refused';

/** The health of an upstream, by its calls and health checks. One that is down is in a cooldown. */
class UpstreamHealth {
  readonly #failuresUntilDown: number;
  #failures = 0;
  #cooldowns = 0;
  #lastFailure: string | null = null;
  #isUp = true;

  /** @param failuresUntilDown - consecutive failures that take the upstream out */
  constructor(failuresUntilDown: number) {
    this.#failuresUntilDown = failuresUntilDown;
  }

  /** Whether calls are sent to it first. */
  get isUp(): boolean {
    return this.#isUp;
  }

  /** The last failure; null when there was none since the last success. */
  get lastFailure(): string | null {
    return this.#lastFailure;
  }

  /** Consecutive cooldowns without a successful call. */
  get cooldowns(): number {
    return this.#cooldowns;
  }

  /** A call succeeded. @returns whether the upstream was down */
  succeeded(): boolean {
    const wasDown = !this.#isUp;
    this.#failures = 0;
    this.#cooldowns = 0;
    this.#lastFailure = null;
    this.#isUp = true;
    return wasDown;
  }

  /**
   * A call failed.
   *
   * @param isConclusive - takes the upstream out at once
   * @returns whether this took the upstream out
   */
  failed(reason: string, isConclusive = false): boolean {
    this.#failures += 1;
    this.#lastFailure = reason;
    if (!this.#isUp || (!isConclusive && this.#failures < this.#failuresUntilDown)) return false;
    this.#isUp = false;
    this.#cooldowns += 1;
    return true;
  }

  /** A health check succeeded. After a cooldown, the next failure takes the upstream out again. @returns whether it was down */
  checkSucceeded(): boolean {
    const wasDown = !this.#isUp;
    this.#failures = this.#cooldowns > 0 ? this.#failuresUntilDown - 1 : 0;
    this.#lastFailure = null;
    this.#isUp = true;
    return wasDown;
  }

  /** A health check failed; the cooldown of one that is down gets longer. @returns whether this took the upstream out */
  checkFailed(reason: string): boolean {
    if (!this.#isUp) this.#cooldowns += 1;
    return this.failed(reason);
  }
}
