import { layGlobalFetch } from '@agentlightning/core/adapter';
import { type TraceFetchOptions, traceFetch } from './trace-fetch.ts';

/** What {@link instrumentGlobalFetch} can be given. */
export type InstrumentGlobalFetchOptions = Omit<TraceFetchOptions, 'fetch'>;

/**
 * Makes the global `fetch` a traced one, for agents whose client cannot be given a `fetch`.
 *
 * Call it before clients are made: many keep the `fetch` they found then. Patching twice does not trace twice.
 *
 * @returns undoes it; safe in any order, and more than once
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
