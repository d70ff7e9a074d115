import { spanInputFromWire, wireSpanBatchSchema } from '@agentlightning/core/protocol';
import type { Context } from 'hono';
import type { IdempotentRequest } from '../../operations/answer-once.ts';
import { spanRow } from '../../span-row.ts';
import type { SqlStore } from '../../sql-store.ts';
import { agentOf, assertMayAppend } from '../access/agent-limits.ts';
import { hashPrefixOf, idempotencyKeyOf, idempotentRequest } from '../idempotency.ts';
import { assertJson, bodyBytes, readBody } from '../request-body.ts';
import type { DecodedSpanBatch } from './decode-span-batch.ts';
import { lengthOf, readPieces } from './read-pieces.ts';
import type { SpanDecoder } from './span-decoder.ts';

/** How a batch of spans was recorded. */
export interface AppendedSpanBatch {
  /** The sequence id of each; null for one that was there already. */
  readonly sequenceIds: readonly (number | null)[];
  /** How long the request's body was. */
  readonly bytes: number;
}

/** Records the spans of a request; once, when it carries an `Idempotency-Key`, however often it is sent. */
export async function appendSpanBatch(
  context: Context,
  store: SqlStore,
  decoder: SpanDecoder,
): Promise<AppendedSpanBatch> {
  assertJson(context);
  const key = idempotencyKeyOf(context);
  const { rows, requestHash, bytes } =
    agentOf(context) === null
      ? await decodeWhole(context, decoder, key === undefined ? null : hashPrefixOf(context))
      : await decodeForAgent(context, store);
  const request: IdempotentRequest | null = key === undefined || requestHash === null ? null : { key, requestHash };
  return { sequenceIds: await store.appendSpanRows(rows, request), bytes };
}

interface ReadSpanBatch extends DecodedSpanBatch {
  readonly bytes: number;
}

async function decodeWhole(context: Context, decoder: SpanDecoder, hashPrefix: string | null): Promise<ReadSpanBatch> {
  const pieces = await readPieces(context);
  const bytes = lengthOf(pieces);
  return { ...(await decoder.decode({ pieces, hashPrefix })), bytes };
}

/** Reads the batch of an agent, whose spans are looked at one by one. */
async function decodeForAgent(context: Context, store: SqlStore): Promise<ReadSpanBatch> {
  const { spans } = await readBody(context, wireSpanBatchSchema);
  const inputs = spans.map(spanInputFromWire);
  await assertMayAppend(context, store, inputs);
  const requestHash = (await idempotentRequest(context))?.requestHash ?? null;
  return { rows: inputs.map(spanRow), requestHash, bytes: await bodyBytes(context) };
}
