import { z } from 'zod';
import type { Attributes, SpanStatus } from '../spans/span.ts';
import type { SpanSearch, SpanSearchPage } from '../store/span-search.ts';
import { present } from './present.ts';
import { spanFromWire, spanToReaders, type WireSpan, wireAttributesSchema, wireSpanSchema } from './wire-span.ts';
import { msFromSeconds, secondsFromMs } from './wire-time.ts';

/** Span filters across rollouts, an extension of the Agent Lightning 0.3 protocol. */
export interface WireSpanSearch {
  readonly run_id?: string | null | undefined;
  readonly rollout_id_in?: readonly string[] | null | undefined;
  readonly name?: string | null | undefined;
  readonly name_contains?: string | null | undefined;
  readonly attributes?: Attributes | null | undefined;
  readonly status_in?: readonly SpanStatus['code'][] | null | undefined;
  /** Unix seconds. */
  readonly start_time_from?: number | null | undefined;
  /** Unix seconds. */
  readonly start_time_before?: number | null | undefined;
  readonly sort_order?: 'asc' | 'desc' | null | undefined;
  readonly limit?: number | null | undefined;
  readonly cursor?: string | null | undefined;
}

/** One page of search results. */
export interface WireSpanSearchPage {
  readonly items: readonly WireSpan[];
  readonly next_cursor: string | null;
}

/** Schema of {@link WireSpanSearch}. */
export const wireSpanSearchSchema: z.ZodType<WireSpanSearch> = z.object({
  run_id: z.string().nullish(),
  rollout_id_in: z.array(z.string()).nullish(),
  name: z.string().nullish(),
  name_contains: z.string().nullish(),
  attributes: wireAttributesSchema.nullish(),
  status_in: z.array(z.enum(['UNSET', 'OK', 'ERROR'])).nullish(),
  start_time_from: z.number().nullish(),
  start_time_before: z.number().nullish(),
  sort_order: z.enum(['asc', 'desc']).nullish(),
  limit: z.number().nullish(),
  cursor: z.string().nullish(),
});

/** Schema of {@link WireSpanSearchPage}. */
export const wireSpanSearchPageSchema: z.ZodType<WireSpanSearchPage> = z.object({
  items: z.array(wireSpanSchema),
  next_cursor: z.string().nullable(),
});

/** Decodes search filters. */
export function spanSearchFromWire(wire: WireSpanSearch): SpanSearch {
  const { start_time_from: from, start_time_before: before } = wire;
  return present({
    runId: wire.run_id,
    rolloutIdIn: wire.rollout_id_in,
    name: wire.name,
    nameContains: wire.name_contains,
    attributes: wire.attributes,
    statusIn: wire.status_in,
    startTimeFromMs: typeof from === 'number' ? msFromSeconds(from) : null,
    startTimeBeforeMs: typeof before === 'number' ? msFromSeconds(before) : null,
    sortOrder: wire.sort_order,
    limit: wire.limit,
    cursor: wire.cursor,
  });
}

/** Encodes search filters. */
export function spanSearchToWire(search: SpanSearch): WireSpanSearch {
  const { startTimeFromMs: from, startTimeBeforeMs: before } = search;
  return {
    run_id: search.runId,
    rollout_id_in: search.rolloutIdIn,
    name: search.name,
    name_contains: search.nameContains,
    attributes: search.attributes,
    status_in: search.statusIn,
    start_time_from: from === undefined ? undefined : secondsFromMs(from),
    start_time_before: before === undefined ? undefined : secondsFromMs(before),
    sort_order: search.sortOrder,
    limit: search.limit,
    cursor: search.cursor,
  };
}

/** Decodes a page of search results. */
export function spanSearchPageFromWire(wire: WireSpanSearchPage): SpanSearchPage {
  return { items: wire.items.map(spanFromWire), nextCursor: wire.next_cursor };
}

/** Encodes a page of search results. */
export function spanSearchPageToWire(page: SpanSearchPage): WireSpanSearchPage {
  return { items: page.items.map(spanToReaders), next_cursor: page.nextCursor };
}
