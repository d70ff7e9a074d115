import type { Attributes, Span, SpanStatus } from './span.ts';

/**
 * Which spans to find, over any number of rollouts. All filters must hold; an empty list of rollouts or
 * statuses matches nothing.
 */
export interface SpanSearch {
  /** Only spans of this run's rollouts. @default any */
  readonly runId?: string;
  /** Only spans of these rollouts. @default any */
  readonly rolloutIdIn?: readonly string[];
  readonly name?: string;
  readonly nameContains?: string;
  /** Attributes that must be equal. */
  readonly attributes?: Attributes;
  readonly statusIn?: readonly SpanStatus['code'][];
  /** Only spans that started then or later, in Unix milliseconds. */
  readonly startTimeFromMs?: number;
  /** Only spans that started earlier, in Unix milliseconds. */
  readonly startTimeBeforeMs?: number;
  /** The order of rollouts as they came in, and of spans within each: oldest or newest first. @default 'asc' */
  readonly sortOrder?: 'asc' | 'desc';
  /** How many spans at most, 1 to 1000. @default 100 */
  readonly limit?: number;
  /** Where to go on: `nextCursor` of the page before, of the same search. @default the beginning */
  readonly cursor?: string;
}

/**
 * A part of what a search finds. It may hold fewer spans than asked for, or none, although there are more:
 * a search looks at a bounded number of spans at a time, so that it stays quick however many there are.
 */
export interface SpanSearchPage {
  readonly items: readonly Span[];
  /** Where the next page begins; null when everything was looked at. */
  readonly nextCursor: string | null;
}
