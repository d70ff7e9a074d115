import { type Clock, systemClock } from './clock.ts';
import { AgentLightningError } from './errors/agent-lightning-error.ts';
import type { ErrorCode } from './errors/error-catalogue.ts';
import type { SpanSink } from './rollout-context.ts';
import type { SpanInput } from './span.ts';
import { SpanQueue } from './span-queue.ts';
import type { Store } from './store.ts';

/** How a {@link StoreSpanSink} batches, waits and gives up. */
export interface StoreSpanSinkOptions {
  /** How long a span may wait for others to share its write, in milliseconds; a flush does not wait. @default 5 */
  readonly delayMs?: number;
  /** How many spans go into one write at most. @default 256 */
  readonly maxBatchSpans?: number;
  /** How many spans may wait; those beyond are lost. @default 20000 */
  readonly maxWaitingSpans?: number;
  /** About how many bytes of spans may wait; spans beyond are lost. @default 67108864 (64 MiB) */
  readonly maxWaitingBytes?: number;
  /** How often a write is tried before its spans are given up. @default 6 */
  readonly maxTries?: number;
  /** The wait before the second try, in milliseconds; it doubles each time, up to 5 seconds. @default 100 */
  readonly retryDelayMs?: number;
  /** Told of every write that failed, with whether it is tried again. @default nobody is told */
  readonly onError?: (failure: SpanSinkFailure) => void;
  /** @default systemClock */
  readonly clock?: Clock;
}

/** A write of spans that failed. */
export interface SpanSinkFailure {
  readonly error: unknown;
  /** The spans it is about. */
  readonly spans: readonly SpanInput[];
  /** False when the spans are lost. */
  readonly isRetried: boolean;
}

/** What a sink did so far, in spans. */
export interface SpanSinkCounts {
  readonly stored: number;
  /** Given up after errors, or turned away because too many were waiting. */
  readonly lost: number;
  /** Not stored yet. */
  readonly waiting: number;
}

/** Errors that another try may cure. Everything else is wrong with the spans themselves. */
const curableCodes: readonly ErrorCode[] = ['UNREACHABLE', 'TIMEOUT', 'STORE_FULL', 'RESOURCE_EXHAUSTED', 'INTERNAL'];

const maxRetryDelayMs = 5000;

/**
 * A sink that writes spans to a store in batches, in order, one write at a time.
 *
 * The agent never waits and never sees an error. A store that cannot be reached is tried again; when one
 * span of a batch is refused, the others are written without it. What is lost is counted and reported.
 *
 * @example
 * ```ts
 * const sink = new StoreSpanSink(store, { onError: ({ error }) => logger.warn(error) });
 * sink.append(span);
 * await sink.flush();
 * ```
 */
export class StoreSpanSink implements SpanSink {
  readonly #store: Pick<Store, 'appendSpans'>;
  readonly #options: Required<Omit<StoreSpanSinkOptions, 'onError'>> & Pick<StoreSpanSinkOptions, 'onError'>;
  readonly #queue: SpanQueue;
  #stored = 0;
  #lost = 0;
  #writing = 0;
  #isWorking = false;
  /** Those who wait until so many of the spans that were taken in are stored or given up. */
  #flushes: { readonly settled: number; readonly resolve: () => void }[] = [];
  #taken = 0;
  #settled = 0;
  /** Aborting it ends the wait for more spans. */
  #hurry: AbortController = new AbortController();

  constructor(store: Pick<Store, 'appendSpans'>, options: StoreSpanSinkOptions = {}) {
    this.#store = store;
    this.#options = {
      delayMs: 5,
      maxBatchSpans: 256,
      maxWaitingSpans: 20_000,
      maxWaitingBytes: 64 * 1024 * 1024,
      maxTries: 6,
      retryDelayMs: 100,
      clock: systemClock,
      ...options,
    };
    this.#queue = new SpanQueue({
      maxSpans: this.#options.maxWaitingSpans,
      maxBytes: this.#options.maxWaitingBytes,
    });
  }

  /** How many spans were stored, were lost and are waiting. */
  get counts(): SpanSinkCounts {
    return { stored: this.#stored, lost: this.#lost, waiting: this.#queue.length + this.#writing };
  }

  append(span: SpanInput): void {
    if (!this.#queue.offer(span)) {
      const message = `${this.#queue.length} spans are waiting for the store and no more are taken in`;
      this.#giveUp([span], new AgentLightningError({ code: 'RESOURCE_EXHAUSTED', message }));
      return;
    }
    this.#taken += 1;
    if (!this.#isWorking) void this.#work();
    if (this.#queue.length >= this.#options.maxBatchSpans) this.#hurry.abort();
  }

  async flush(): Promise<void> {
    if (this.#settled === this.#taken) return;
    this.#hurry.abort();
    // Only for the spans so far: with many rollouts at work, there may always be more.
    await new Promise<void>((resolve) => this.#flushes.push({ settled: this.#taken, resolve }));
  }

  /** Writes until nothing waits. Never rejects. */
  async #work(): Promise<void> {
    this.#isWorking = true;
    const { clock, delayMs, maxBatchSpans } = this.#options;
    const isHurried = (): boolean => this.#hurry.signal.aborted;
    // Rejects when somebody is in a hurry, which is as good as the time having passed.
    if (!isHurried()) await clock.sleep(delayMs, this.#hurry.signal).catch(() => {});
    while (this.#queue.length > 0) {
      const batch = this.#queue.take(maxBatchSpans);
      this.#writing = batch.length;
      await this.#write(batch);
      this.#writing = 0;
      this.#settle(batch.length);
    }
    this.#hurry = new AbortController();
    this.#isWorking = false;
  }

  #settle(count: number): void {
    this.#settled += count;
    const isDue = ({ settled }: { readonly settled: number }): boolean => settled <= this.#settled;
    const due = this.#flushes.filter(isDue);
    this.#flushes = this.#flushes.filter((flush) => !isDue(flush));
    for (const { resolve } of due) resolve();
  }

  async #write(batch: readonly SpanInput[]): Promise<void> {
    const failure = await this.#tryWrite(batch);
    if (failure === null) {
      this.#stored += batch.length;
    } else if (batch.length === 1 || isCurable(failure.error)) {
      this.#giveUp(batch, failure.error);
    } else {
      // One span that the store refuses must not take the others with it: find it by halves.
      const middle = batch.length >> 1;
      await this.#write(batch.slice(0, middle));
      await this.#write(batch.slice(middle));
    }
  }

  /** Null when the spans are stored. Writing spans again is harmless: the store knows them by their ids. */
  async #tryWrite(batch: readonly SpanInput[]): Promise<{ readonly error: unknown } | null> {
    const { clock, maxTries, retryDelayMs } = this.#options;
    for (let tries = 1; ; tries += 1) {
      try {
        await this.#store.appendSpans(batch);
        return null;
      } catch (error) {
        if (!isCurable(error) || tries >= maxTries) return { error };
        this.#report({ error, spans: batch, isRetried: true });
        await clock.sleep(Math.min(retryDelayMs * 2 ** (tries - 1), maxRetryDelayMs));
      }
    }
  }

  #giveUp(spans: readonly SpanInput[], error: unknown): void {
    this.#lost += spans.length;
    this.#report({ error, spans, isRetried: false });
  }

  #report(failure: SpanSinkFailure): void {
    try {
      this.#options.onError?.(failure);
    } catch {
      // The one who is told must not stop the writing, nor throw into the agent.
    }
  }
}

function isCurable(error: unknown): boolean {
  return !AgentLightningError.isInstance(error) || curableCodes.includes(error.code);
}
