import type { SpanInput } from '@agentlightning/core';
import { specialRoutes } from '@agentlightning/core/protocol';
import type { Context } from 'hono';
import { assertMayAppend, assertOwnAttempts } from '../access/agent-limits.ts';
import { doOnce } from '../idempotency.ts';
import { bodyBytes, readInput } from '../request-input.ts';
import { outputResponse, type SpecialHandlers, type StoreRouteOptions } from '../route-handler.ts';

const { appendSpan, appendSpans, nextSpanSequenceId } = specialRoutes;

/** Records one or many spans, and reserves one sequence id. */
export function spanHandlers({
  store,
  metrics,
}: StoreRouteOptions): Pick<SpecialHandlers, 'appendSpan' | 'appendSpans' | 'nextSpanSequenceId'> {
  return {
    appendSpan: async (context) => {
      const span = await readInput(context, appendSpan);
      await assertMayAppend(context, store, [span]);
      const [recorded = null] = await doOnce(context, store, (transaction) => transaction.appendSpans([span]));
      await countSpans(context, recorded === null ? 0 : 1);
      return outputResponse(context, appendSpan, recorded);
    },

    appendSpans: async (context) => {
      const spans: readonly SpanInput[] = await readInput(context, appendSpans);
      await assertMayAppend(context, store, spans);
      const sequenceIds = await doOnce(context, store, async (transaction) => {
        const recorded = await transaction.appendSpans(spans);
        return recorded.map((span) => span?.sequenceId ?? null);
      });
      await countSpans(context, sequenceIds.filter((sequenceId) => sequenceId !== null).length);
      return outputResponse(context, appendSpans, sequenceIds);
    },

    nextSpanSequenceId: async (context) => {
      const attempt = await readInput(context, nextSpanSequenceId);
      assertOwnAttempts(context, [attempt]);
      const [sequenceId = 0] = await doOnce(context, store, (transaction) =>
        transaction.nextSpanSequenceIds([attempt]),
      );
      return outputResponse(context, nextSpanSequenceId, sequenceId);
    },
  };

  async function countSpans(context: Context, count: number): Promise<void> {
    metrics.spansRecorded(count, { format: 'json', bytes: await bodyBytes(context) });
  }
}
