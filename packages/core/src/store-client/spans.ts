import { z } from 'zod';
import { AgentLightningError } from '../errors/agent-lightning-error.ts';
import { spanToReaders, spanToWire, wireSpanSchema } from '../protocol/wire-span.ts';
import type { Span, SpanInput } from '../spans/span.ts';
import type { StoreTransport } from './transport.ts';

/** An attempt that needs a sequence id. */
export interface NumberedAttempt {
  readonly rolloutId: string;
  readonly attemptId: string;
}

const sequenceIdsSchema: z.ZodType<{ readonly sequence_ids: readonly (number | null)[] }> = z.object({
  sequence_ids: z.array(z.int().nullable()),
});
const sequenceIdSchema: z.ZodType<{ readonly sequence_id: number }> = z.object({ sequence_id: z.int() });

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
      const body = { spans: spans.map(spanToWire) };
      const request = { method: 'POST', path: '/spans/batch', body, answer: sequenceIdsSchema } as const;
      const { sequence_ids } = await this.#transport.send(request);
      return spans.map((span, index) => {
        const sequenceId = sequence_ids[index] ?? null;
        return sequenceId === null ? null : { ...span, sequenceId };
      });
    };
    return this.#inBatch(batch, () => this.#appendEach(spans));
  }

  /** Reserves a sequence id for each attempt, in order. */
  reserve(attempts: readonly NumberedAttempt[]): Promise<readonly number[]> {
    const batch = async (): Promise<readonly number[]> => {
      const { sequence_ids } = await this.#transport.send({
        method: 'POST',
        path: '/spans/next/batch',
        body: { attempts: attempts.map(attemptToWire) },
        answer: sequenceIdsSchema,
        idempotencyKey: crypto.randomUUID(),
      });
      return sequence_ids.map((sequenceId) => sequenceId ?? 0);
    };
    return this.#inBatch(batch, async () => {
      const reserved: number[] = [];
      for (const attempt of attempts) reserved.push(await this.#reserveOne(attempt));
      return reserved;
    });
  }

  async #appendEach(spans: readonly SpanInput[]): Promise<readonly (Span | null)[]> {
    const recorded: (Span | null)[] = [];
    for (const span of spans) {
      const numbered: Span = { ...span, sequenceId: span.sequenceId ?? (await this.#reserveOne(span)) };
      // That server stores spans unchanged, and the Python readers expect log-probabilities in a separate form.
      const request = { method: 'POST', path: '/spans', body: spanToReaders(numbered) } as const;
      const wire = await this.#transport.send({ ...request, answer: wireSpanSchema.nullable() });
      recorded.push(wire === null ? null : numbered);
    }
    return recorded;
  }

  async #reserveOne(attempt: NumberedAttempt): Promise<number> {
    const body = attemptToWire(attempt);
    const request = { method: 'POST', path: '/spans/next', body, answer: sequenceIdSchema } as const;
    const { sequence_id } = await this.#transport.send({ ...request, idempotencyKey: crypto.randomUUID() });
    return sequence_id;
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

function attemptToWire({ rolloutId, attemptId }: NumberedAttempt): object {
  return { rollout_id: rolloutId, attempt_id: attemptId };
}

/** Whether a foreign server has no such route. A server of this project names the missing record. */
function isUnknownRoute(error: unknown): boolean {
  if (!AgentLightningError.isInstance(error)) return false;
  return error.details.status === 404 || error.details.status === 405;
}
