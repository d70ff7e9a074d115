import { AgentLightningError } from '../base/agent-lightning-error.ts';
import { operationRoutes } from '../protocol/routes/operation-routes.ts';
import { specialRoutes } from '../protocol/routes/special-routes.ts';
import { maxBatchItems } from '../protocol/routes/store-route.ts';
import type { AttemptReference } from '../protocol/wire/wire-span.ts';
import { attributesForReaders } from '../spans/python-logprobs.ts';
import type { Span, SpanInput } from '../spans/span.ts';
import type { StoreTransport } from './transport.ts';

/**
 * Writes spans over HTTP, in batches where the server supports them. An Agent Lightning 0.3 server does not: it
 * receives single spans with explicit sequence ids, as from its own client.
 */
export class SpanWriting {
  readonly #transport: StoreTransport;
  #hasBatches = true;

  constructor(transport: StoreTransport) {
    this.#transport = transport;
  }

  /** Records spans; null for an existing one. */
  append(spans: readonly SpanInput[]): Promise<readonly (Span | null)[]> {
    const batch = async (): Promise<readonly (Span | null)[]> => {
      const sequenceIds = await inBatches(spans, (input) => this.#appendBatch(input));
      return spans.map((span, index) => {
        const sequenceId = sequenceIds[index] ?? null;
        return sequenceId === null ? null : { ...span, sequenceId };
      });
    };
    return this.#inBatch(batch, () => this.#appendEach(spans));
  }

  /** Reserves a sequence id for each attempt, in order. */
  reserve(attempts: readonly AttemptReference[]): Promise<readonly number[]> {
    const batch = (): Promise<readonly number[]> =>
      inBatches(attempts, (input) => this.#transport.call(operationRoutes.nextSpanSequenceIds, { input }));
    return this.#inBatch(batch, async () => {
      const reserved: number[] = [];
      for (const attempt of attempts) reserved.push(await this.#reserveOne(attempt));
      return reserved;
    });
  }

  /** Splits a batch that is too large for the server: a span has as many values as the prompt of its model call has tokens. */
  async #appendBatch(input: readonly SpanInput[]): Promise<readonly (number | null)[]> {
    try {
      return await this.#transport.call(specialRoutes.appendSpans, { input });
    } catch (error) {
      const isTooLarge = AgentLightningError.isInstance(error) && error.code === 'PAYLOAD_TOO_LARGE';
      if (!isTooLarge || input.length === 1) throw error;
      const middle = Math.ceil(input.length / 2);
      const first = await this.#appendBatch(input.slice(0, middle));
      return [...first, ...(await this.#appendBatch(input.slice(middle)))];
    }
  }

  async #appendEach(spans: readonly SpanInput[]): Promise<readonly (Span | null)[]> {
    const recorded: (Span | null)[] = [];
    for (const span of spans) {
      const numbered: Span = { ...span, sequenceId: span.sequenceId ?? (await this.#reserveOne(span)) };
      // That server stores spans unchanged, and the Python readers expect log-probabilities in a separate form.
      const input = { ...numbered, attributes: attributesForReaders(numbered.attributes) };
      const isNew = (await this.#transport.call(specialRoutes.appendSpan, { input })) !== null;
      recorded.push(isNew ? numbered : null);
    }
    return recorded;
  }

  #reserveOne({ rolloutId, attemptId }: AttemptReference): Promise<number> {
    return this.#transport.call(specialRoutes.nextSpanSequenceId, { input: { rolloutId, attemptId } });
  }

  async #inBatch<TResult>(batch: () => Promise<TResult>, oneByOne: () => Promise<TResult>): Promise<TResult> {
    if (!this.#hasBatches) return oneByOne();
    try {
      return await batch();
    } catch (error) {
      if (!isUnknownRoute(error)) throw error;
      this.#hasBatches = false;
      return oneByOne();
    }
  }
}

/** Sends items in as few requests as the server accepts, one after another. */
export async function inBatches<TItem, TResult>(
  items: readonly TItem[],
  send: (batch: readonly TItem[]) => Promise<readonly TResult[]>,
): Promise<readonly TResult[]> {
  if (items.length <= maxBatchItems) return send(items);
  const results: TResult[] = [];
  for (let start = 0; start < items.length; start += maxBatchItems) {
    results.push(...(await send(items.slice(start, start + maxBatchItems))));
  }
  return results;
}

/** Whether a foreign server has no such route. A server of this project names the missing record. */
function isUnknownRoute(error: unknown): boolean {
  if (!AgentLightningError.isInstance(error)) return false;
  return error.details.status === 404 || error.details.status === 405;
}
