import {
  spanInputFromWire,
  spanQueryFromWire,
  spanToReaders,
  spanToWire,
  type WireSequenceIdRequest,
  type WireSpanQuery,
  wireSequenceIdBatchSchema,
  wireSequenceIdRequestSchema,
  wireSpanBatchSchema,
  wireSpanQuerySchema,
  wireSpanSchema,
} from '@agentlightning/core/protocol';
import type { Context, Hono } from 'hono';
import { assertMayAppend, assertOwnAttempts } from '../access/agent-limits.ts';
import { answerJson } from '../answer.ts';
import { answerList } from '../answer-list.ts';
import { doOnce } from '../idempotency.ts';
import { bodyBytes, readBody } from '../request-body.ts';
import { readParameters } from '../request-parameters.ts';
import type { StoreRouteOptions } from '../store-route.ts';

/** Spans: record one or many, list, reserve sequence ids. */
export function addSpanRoutes(app: Hono, { store, metrics, onFault }: StoreRouteOptions): void {
  const list = (context: Context, wire: WireSpanQuery): Promise<Response> =>
    answerList(context, store.streamSpans(spanQueryFromWire(wire)), { toWire: spanToReaders, onFault });
  const reserve = (context: Context, wire: readonly WireSequenceIdRequest[]): Promise<readonly number[]> => {
    const attempts = wire.map(({ rollout_id, attempt_id }) => ({ rolloutId: rollout_id, attemptId: attempt_id }));
    assertOwnAttempts(context, attempts);
    return doOnce(context, store, (transaction) => transaction.nextSpanSequenceIds(attempts));
  };

  app.post('/spans', async (context) => {
    const span = spanInputFromWire(await readBody(context, wireSpanSchema));
    await assertMayAppend(context, store, [span]);
    const [recorded = null] = await doOnce(context, store, (transaction) => transaction.appendSpans([span]));
    metrics.spansRecorded(recorded === null ? 0 : 1, { format: 'json', bytes: await bodyBytes(context) });
    return answerJson(context, recorded === null ? null : spanToWire(recorded), 201);
  });

  app.post('/spans/batch', async (context) => {
    const { spans: wire } = await readBody(context, wireSpanBatchSchema);
    const spans = wire.map(spanInputFromWire);
    await assertMayAppend(context, store, spans);
    const sequenceIds = await doOnce(context, store, async (transaction) => {
      const recorded = await transaction.appendSpans(spans);
      return recorded.map((span) => span?.sequenceId ?? null);
    });
    const count = sequenceIds.filter((sequenceId) => sequenceId !== null).length;
    metrics.spansRecorded(count, { format: 'json', bytes: await bodyBytes(context) });
    return answerJson(context, { sequence_ids: sequenceIds }, 201);
  });

  app.get('/spans', (context) => list(context, readParameters(context, wireSpanQuerySchema)));
  app.post('/spans/search', async (context) => list(context, await readBody(context, wireSpanQuerySchema)));

  app.post('/spans/next', async (context) => {
    const [sequence_id] = await reserve(context, [await readBody(context, wireSequenceIdRequestSchema)]);
    return answerJson(context, { sequence_id });
  });

  app.post('/spans/next/batch', async (context) => {
    const { attempts } = await readBody(context, wireSequenceIdBatchSchema);
    return answerJson(context, { sequence_ids: await reserve(context, attempts) });
  });
}
