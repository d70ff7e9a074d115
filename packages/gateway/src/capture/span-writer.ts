import { AgentLightningError, type Clock, type ErrorCode, type SpanInput, type Store } from '@agentlightning/core';
import { backoffMs, genAiAttributes, modelCallAttributes, withRetry } from '@agentlightning/core/internal';
import type { GatewayLog } from '../wire/gateway-options.ts';

/** Names of the attributes that a span lacks because it would be larger than the store accepts. */
const omittedAttribute = 'agentlightning.omitted_attributes';

interface PendingSpan {
  readonly span: SpanInput;
  readonly resolve: () => void;
  readonly reject: (error: unknown) => void;
}

/** Maximum spans per transaction. */
const maxBatchSize = 256;

/**
 * Batch size that is sent without waiting for the end of the event loop turn. A busy turn brings far more: a store in
 * another thread or process would be idle until the turn ends, and then receive everything at once.
 */
const fullBatchSize = 16;

/** Retries of a span that is written in the background. */
const maxBackgroundRetries = 5;

const backoff = { baseDelayMs: 100, maxDelayMs: 3200 };

/** Store failures, as opposed to invalid spans: writing the spans one by one would not help. */
const storeFailures: readonly ErrorCode[] = ['UNREACHABLE', 'STORE_FULL', 'STORE_SCHEMA', 'TIMEOUT', 'UNAUTHENTICATED'];

/** Options of a writer. */
export interface SpanWriterOptions {
  readonly store: Store;
  readonly clock: Clock;
  readonly log: GatewayLog;
  /**
   * Maximum batches in flight. With one, a store in another thread or behind HTTP idles while the gateway sends, and the
   * gateway while the store writes. With several, batches may be reordered on their way to a server. @default 1
   */
  readonly maxBatches?: number;
}

/** Groups spans into few transactions: a single span is written at once, further ones of the same turn together. */
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

  /** Resolves when the span is durable in the store; rejects with the store's error otherwise. */
  write(span: SpanInput): Promise<void> {
    return new Promise((resolve, reject) => {
      this.#pending.push({ span, resolve, reject });
      if (this.#underWay === 0 || this.#pending.length >= fullBatchSize) this.#send();
      this.#sendAfterTurn();
    });
  }

  /** Writes a span without waiting; failures are retried, then logged. */
  writeInBackground(span: SpanInput): void {
    const written = this.#writeWithRetries(span).finally(() => this.#background.delete(written));
    this.#background.add(written);
  }

  /** Resolves when every background write has finished or failed. */
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

  /** A commit costs the same for one span as for a few: the spans of one turn are sent together. */
  #sendAfterTurn(): void {
    if (this.#isAwaitingTurn || this.#pending.length === 0) return;
    this.#isAwaitingTurn = true;
    setImmediate(() => {
      this.#isAwaitingTurn = false;
      this.#send();
    });
  }

  /** Sends the gathered spans, unless the limit of batches in flight is reached: then the next batch to end sends them. */
  #send(): void {
    if (this.#pending.length === 0 || this.#underWay >= this.#maxBatches) return;
    this.#underWay += 1;
    void this.#writeBatch(this.#pending.splice(0, maxBatchSize)).then(() => {
      this.#underWay -= 1;
      this.#sendAfterTurn();
    });
  }

  /** Records a call whose span is larger than the store accepts without its largest attributes. */
  async #writeSmaller({ span, resolve, reject }: PendingSpan, cause: unknown): Promise<void> {
    let last = cause;
    for (const smaller of smallerSpans(span)) {
      try {
        await this.#store.appendSpans([smaller]);
        return resolve();
      } catch (error) {
        last = error;
        if (!isTooLarge(error)) break;
      }
    }
    reject(last);
  }

  async #writeBatch(batch: readonly PendingSpan[]): Promise<void> {
    try {
      await this.#store.appendSpans(batch.map((pending) => pending.span));
      for (const pending of batch) pending.resolve();
    } catch (error) {
      const [first] = batch;
      if (first !== undefined && batch.length === 1 && isTooLarge(error)) return await this.#writeSmaller(first, error);
      if (batch.length === 1 || isStoreFailure(error)) {
        for (const pending of batch) pending.reject(error);
        return;
      }
      // One invalid span must not fail the rest of the batch.
      for (const pending of batch) await this.#writeBatch([pending]);
    }
  }
}

/** The limits of one span, as opposed to those of an attempt, where a smaller span helps. */
function isTooLarge(error: unknown): boolean {
  if (!AgentLightningError.isInstance(error)) return false;
  return (
    error.code === 'PAYLOAD_TOO_LARGE' || (error.code === 'QUOTA_EXCEEDED' && error.message.includes('maxSpanBytes'))
  );
}

/** Attributes of a call that its record can lack, in this order. */
const omissible: readonly (readonly string[])[] = [
  // Repeat the request body.
  [genAiAttributes.inputMessages, genAiAttributes.toolDefinitions],
  [modelCallAttributes.requestBody],
  [modelCallAttributes.promptTokenIds, modelCallAttributes.responseTokens],
];

/** A span without further attributes; one without its prompt cannot be trained on. */
function smallerSpans(span: SpanInput): readonly SpanInput[] {
  return omissible.map((_, index) => {
    const omitted = omissible.slice(0, index + 1).flat();
    const kept = Object.entries(span.attributes).filter(([name]) => !omitted.includes(name));
    const isTrainable = index < omissible.length - 1;
    const reason = 'its prompt is too large for the record';
    return {
      ...span,
      attributes: {
        ...Object.fromEntries(kept),
        ...(isTrainable
          ? {}
          : { [modelCallAttributes.isTrainable]: false, [modelCallAttributes.untrainableReason]: reason }),
        [omittedAttribute]: omitted.filter((name) => name in span.attributes),
      },
    };
  });
}

function isStoreFailure(error: unknown): boolean {
  return AgentLightningError.isInstance(error) && storeFailures.includes(error.code);
}
