import { layGlobalFetch } from '@agentlightning/core/internal';
import { type TraceFetchOptions, traceFetch } from './trace-fetch.ts';

/** Options of {@link instrumentGlobalFetch}. */
export type InstrumentGlobalFetchOptions = Omit<TraceFetchOptions, 'fetch'>;

/**
 * Replaces the global `fetch` with a traced one, for agents whose client does not accept a `fetch`.
 *
 * Call it before clients are created: many keep the `fetch` found at creation. A second call does not trace twice.
 *
 * @returns the undo; safe in any order, and more than once
 *
 * @example
 * ```ts
 * const undo = instrumentGlobalFetch();
 * // … run the agent …
 * undo();
 * ```
 */
export function instrumentGlobalFetch(options: InstrumentGlobalFetchOptions = {}): () => void {
  return layGlobalFetch((inner) => traceFetch({ ...options, fetch: inner }));
}
