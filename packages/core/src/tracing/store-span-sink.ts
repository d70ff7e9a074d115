import { AgentLightningError } from '../base/agent-lightning-error.ts';
import { type Clock, systemClock } from '../base/clock.ts';
import type { ErrorCode } from '../base/error-catalogue.ts';
import { backoffMs } from '../base/retry.ts';
import type { SpanInput } from '../spans/span.ts';
import type { Store } from '../store/store.ts';
import type { SpanSink } from './rollout-context.ts';
import { SpanQueue } from './span-queue.ts';

/** Options of {@link StoreSpanSink}. */
export interface StoreSpanSinkOptions {
  /** Maximum delay of a span for batching, in milliseconds; a flush skips it. @default 5 */
  readonly delayMs?: number;
  /** Maximum number of spans per write. @default 256 */
  readonly maxBatchSpans?: number;
  /** Maximum number of queued spans; further spans are lost. @default 20000 */
  readonly maxWaitingSpans?: number;
  /** Approximate maximum size of queued spans, in bytes; further spans are lost. @default 67108864 (64 MiB) */
  readonly maxWaitingBytes?: number;
  /** Maximum number of tries per write. @default 6 */
  readonly maxTries?: number;
  /** Delay before the first retry, in milliseconds; doubles each time, up to 5 seconds. @default 100 */
  readonly retryDelayMs?: number;
  /** Called for every failed write. @default none */
  readonly onError?: (failure: SpanSinkFailure) => void;
  /** @default systemClock */
  readonly clock?: Clock;
}

/** A failed write of spans. */
export interface SpanSinkFailure {
  /** What the store threw. */
  readonly error: unknown;
  /** The spans of the write. */
  readonly spans: readonly SpanInput[];
  /** False when the spans are lost. */
  readonly isRetried: boolean;
}

/** Span counts of a sink. */
export interface SpanSinkCounts {
  /** Number of stored spans. */
  readonly stored: number;
  /** Dropped after errors, or because the queue was full. */
  readonly lost: number;
  /** Not stored yet. */
  readonly waiting: number;
}

/** Transient errors, which are retried. All others are caused by the spans themselves. */
const curableCodes: readonly ErrorCode[] = ['UNREACHABLE', 'TIMEOUT', 'STORE_FULL', 'RESOURCE_EXHAUSTED', 'INTERNAL'];

const maxRetryDelayMs = 5000;

/**
 * Writes spans to a store in batches, in order, one write at a time.
 *
 * The agent never waits and never gets an error. Writes to an unreachable store are retried; when one span of a batch
 * is rejected, the others are written without it. Lost spans are counted and reported.
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
  /** Pending flushes: each waits for a number of spans to be stored or lost. */
  #flushes: { readonly settled: number; readonly resolve: () => void }[] = [];
  #taken = 0;
  #settled = 0;
  /** Aborting it ends the batch delay. */
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

  /** Numbers of stored, lost and queued spans. */
  get counts(): SpanSinkCounts {
    return { stored: this.#stored, lost: this.#lost, waiting: this.#queue.length + this.#writing };
  }

  /** Appends a span to the next batch. */
  append(span: SpanInput): void {
    if (!this.#queue.offer(span)) {
      const message = `Span queue is full: ${this.#queue.length} spans are waiting for the store`;
      this.#giveUp([span], new AgentLightningError({ code: 'RESOURCE_EXHAUSTED', message }));
      return;
    }
    this.#taken += 1;
    if (!this.#isWorking) void this.#work();
    if (this.#queue.length >= this.#options.maxBatchSpans) this.#hurry.abort();
  }

  /** Sends what is not yet stored. */
  async flush(): Promise<void> {
    if (this.#settled === this.#taken) return;
    this.#hurry.abort();
    // Only for the spans so far: concurrent rollouts append continuously.
    await new Promise<void>((resolve) => this.#flushes.push({ settled: this.#taken, resolve }));
  }

  /** Writes until the queue is empty. Never rejects. */
  async #work(): Promise<void> {
    this.#isWorking = true;
    const { clock, delayMs, maxBatchSpans } = this.#options;
    const isHurried = (): boolean => this.#hurry.signal.aborted;
    // Rejects on a flush, which ends the delay.
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
      // A rejected span must not affect the others: it is found by bisection.
      const middle = batch.length >> 1;
      await this.#write(batch.slice(0, middle));
      await this.#write(batch.slice(middle));
    }
  }

  /** Null on success. Writing spans again is harmless: the store deduplicates them by id. */
  async #tryWrite(batch: readonly SpanInput[]): Promise<{ readonly error: unknown } | null> {
    const { clock, maxTries, retryDelayMs } = this.#options;
    for (let tries = 1; ; tries += 1) {
      try {
        await this.#store.appendSpans(batch);
        return null;
      } catch (error) {
        if (!isCurable(error) || tries >= maxTries) return { error };
        this.#report({ error, spans: batch, isRetried: true });
        await clock.sleep(backoffMs({ baseDelayMs: retryDelayMs, maxDelayMs: maxRetryDelayMs }, tries));
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
      // Errors of the callback must not stop writes or reach the agent.
    }
  }
}

function isCurable(error: unknown): boolean {
  return !AgentLightningError.isInstance(error) || curableCodes.includes(error.code);
}
