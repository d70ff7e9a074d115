import { AgentLightningError, type Clock, type ErrorCode, type SpanInput, type Store } from '@agentlightning/core';
import { backoffMs, withRetry } from '@agentlightning/core/internal';
import type { GatewayLog } from '../gateway-options.ts';

interface PendingSpan {
  readonly span: SpanInput;
  readonly resolve: () => void;
  readonly reject: (error: unknown) => void;
}

/** How many spans one transaction takes at most. */
const maxBatchSize = 256;

/**
 * How many spans do not wait for others. A busy turn of the event loop brings far more: a store that works elsewhere
 * would have nothing to do until it ends, and then all of them at once.
 */
const fullBatchSize = 16;

/** Retries of a span that is written in the background. */
const maxBackgroundRetries = 5;

const backoff = { baseDelayMs: 100, maxDelayMs: 3200 };

/** Failures that are about the store and not about a span: writing the spans one by one would not help. */
const storeFailures: readonly ErrorCode[] = ['UNREACHABLE', 'STORE_FULL', 'STORE_SCHEMA', 'TIMEOUT', 'UNAUTHENTICATED'];

/** What a writer works with. */
export interface SpanWriterOptions {
  readonly store: Store;
  readonly clock: Clock;
  readonly log: GatewayLog;
  /**
   * How many batches may be under way at a time. With one, calls go round in a herd where the store works elsewhere, in
   * another thread or behind HTTP: it has nothing to do while they are passed on, nor the gateway while they are
   * written. With several, batches may overtake each other on their way to a server. @default 1
   */
  readonly maxBatches?: number;
}

/** Writes spans in few transactions: one that comes alone at once, others with those of their turn, unless they are many. */
export class SpanWriter {
  readonly #store: Store;
  readonly #clock: Clock;
  readonly #log: GatewayLog;
  readonly #pending: PendingSpan[] = [];
  readonly #background: Set<Promise<void>> = new Set();
  readonly #maxBatches: number;
  #underWay = 0;
  #isAwaitingTurn = false;

  constructor(options: SpanWriterOptions) {
    this.#maxBatches = options.maxBatches ?? 1;
    this.#store = options.store;
    this.#clock = options.clock;
    this.#log = options.log;
  }

  /** Resolves when the span is durable in the store; rejects with the store's error when it is not. */
  write(span: SpanInput): Promise<void> {
    return new Promise((resolve, reject) => {
      this.#pending.push({ span, resolve, reject });
      if (this.#underWay === 0 || this.#pending.length >= fullBatchSize) this.#send();
      this.#sendAfterTurn();
    });
  }

  /** Writes a span that nobody waits for; failures are retried, then logged. */
  writeInBackground(span: SpanInput): void {
    const written = this.#writeWithRetries(span).finally(() => this.#background.delete(written));
    this.#background.add(written);
  }

  /** Resolves when everything written in the background so far is stored, or given up. */
  async flush(): Promise<void> {
    await Promise.all(this.#background);
  }

  async #writeWithRetries(span: SpanInput): Promise<void> {
    try {
      await withRetry(() => this.write(span), {
        clock: this.#clock,
        delayMs: (error, failures) =>
          failures <= maxBackgroundRetries && isStoreFailure(error) ? backoffMs(backoff, failures) : null,
      });
    } catch (error) {
      const { rolloutId, attemptId, spanId } = span;
      this.#log.error({ rolloutId, attemptId, spanId, err: error }, 'a model call could not be recorded');
    }
  }

  /** To commit costs as much for one as for a few: what this turn brings goes together. */
  #sendAfterTurn(): void {
    if (this.#isAwaitingTurn || this.#pending.length === 0) return;
    this.#isAwaitingTurn = true;
    setImmediate(() => {
      this.#isAwaitingTurn = false;
      this.#send();
    });
  }

  /** Sends what has gathered, unless as many batches as may be are under way: then the next to end sends it. */
  #send(): void {
    if (this.#pending.length === 0 || this.#underWay >= this.#maxBatches) return;
    this.#underWay += 1;
    void this.#writeBatch(this.#pending.splice(0, maxBatchSize)).then(() => {
      this.#underWay -= 1;
      this.#sendAfterTurn();
    });
  }

  async #writeBatch(batch: readonly PendingSpan[]): Promise<void> {
    try {
      await this.#store.appendSpans(batch.map((pending) => pending.span));
      for (const pending of batch) pending.resolve();
    } catch (error) {
      if (batch.length === 1 || isStoreFailure(error)) {
        for (const pending of batch) pending.reject(error);
        return;
      }
      // One bad span must not take the others with it.
      for (const pending of batch) await this.#writeBatch([pending]);
    }
  }
}

function isStoreFailure(error: unknown): boolean {
  return AgentLightningError.isInstance(error) && storeFailures.includes(error.code);
}
