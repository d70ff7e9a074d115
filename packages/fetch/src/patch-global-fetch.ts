import { type TraceFetchOptions, traceFetch } from './trace-fetch.ts';

/** What {@link patchGlobalFetch} can be given. */
export type PatchGlobalFetchOptions = Omit<TraceFetchOptions, 'fetch'>;

/**
 * Makes the global `fetch` a traced one, for agents whose client cannot be given a `fetch`.
 *
 * Call it before clients are made: many keep the `fetch` they found then. Patching twice does not trace twice.
 *
 * @returns undoes it; safe in any order, and more than once
 *
 * @example
 * ```ts
 * const undo = patchGlobalFetch();
 * // … run the agent …
 * undo();
 * ```
 */
export function patchGlobalFetch(options: PatchGlobalFetchOptions = {}): () => void {
  const before = globalThis.fetch;
  const traced = traceFetch({ ...options, fetch: before });
  let isActive = true;
  // Clients may have kept the patched function: after undoing, it only passes on.
  const patched: typeof fetch = (input, init) => (isActive ? traced : before)(input, init);
  globalThis.fetch = Object.defineProperties(patched, Object.getOwnPropertyDescriptors(traced));
  return () => {
    isActive = false;
    if (globalThis.fetch === patched) globalThis.fetch = before;
  };
}
