import type { Attributes, Span, SpanStatus } from '../spans/span.ts';

/** Span filters across rollouts. All filters must match; an empty list of rollouts or statuses matches nothing. */
export interface SpanSearch {
  /** Only spans of this run's rollouts. @default any */
  readonly runId?: string;
  /** Only spans of these rollouts. @default any */
  readonly rolloutIdIn?: readonly string[];
  /** Only spans of this name. */
  readonly name?: string;
  /** Part of the name. */
  readonly nameContains?: string;
  /** Attribute values that must be equal. */
  readonly attributes?: Attributes;
  /** Any of these outcomes. */
  readonly statusIn?: readonly SpanStatus['code'][];
  /** Only spans that started at or after this time, in Unix milliseconds. */
  readonly startTimeFromMs?: number;
  /** Only spans that started before this time, in Unix milliseconds. */
  readonly startTimeBeforeMs?: number;
  /** Sort by creation order of rollouts, and by spans within each. @default 'asc' */
  readonly sortOrder?: 'asc' | 'desc';
  /** Maximum number of spans, 1 to 1000. @default 100 */
  readonly limit?: number;
  /** `nextCursor` of the previous page of the same search. @default the beginning */
  readonly cursor?: string;
}

/**
 * One page of search results. It can hold fewer spans than requested, or none, although there are more: a search
 * examines a bounded number of spans at a time, which bounds its latency.
 */
export interface SpanSearchPage {
  /** The spans of the page. */
  readonly items: readonly Span[];
  /** Cursor of the next page; null when the search is complete. */
  readonly nextCursor: string | null;
}
