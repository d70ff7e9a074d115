import { z } from 'zod';
import type { SpanSearch, SpanSearchPage } from '../store/span-search.ts';
import { optionsCodec, recordCodec, seconds } from './wire-fields.ts';
import { spanCodec, wireAttributesSchema, wireSpanStatusSchema } from './wire-span.ts';

/** Span filters across rollouts, an extension of the Agent Lightning 0.3 protocol. */
export const spanSearchCodec: z.ZodType<SpanSearch> = optionsCodec<SpanSearch>({
  runId: ['run_id', z.string().nullish()],
  rolloutIdIn: ['rollout_id_in', z.array(z.string()).nullish()],
  name: ['name', z.string().nullish()],
  nameContains: ['name_contains', z.string().nullish()],
  attributes: ['attributes', wireAttributesSchema.nullish()],
  statusIn: ['status_in', z.array(wireSpanStatusSchema).nullish()],
  startTimeFromMs: ['start_time_from', seconds.nullish()],
  startTimeBeforeMs: ['start_time_before', seconds.nullish()],
  sortOrder: ['sort_order', z.enum(['asc', 'desc']).nullish()],
  limit: ['limit', z.number().nullish()],
  cursor: ['cursor', z.string().nullish()],
});

/** One page of search results. */
export const spanSearchPageCodec: z.ZodType<SpanSearchPage> = recordCodec<SpanSearchPage>({
  items: ['items', z.array(spanCodec)],
  nextCursor: ['next_cursor', z.string().nullable()],
});
