import { layerKey } from './fetch-layer.ts';
import { type RedirectedFetchOptions, redirectedFetch } from './redirected-fetch.ts';

/** Wraps a fetch. */
export type FetchLayerMaker = (inner: typeof fetch) => typeof fetch;

/** A replaced global fetch and its layers. */
interface Installation {
  readonly before: typeof fetch;
  layers: readonly FetchLayerMaker[];
  /** The layers over `before`, rebuilt when a layer is added or removed. */
  current: typeof fetch;
}

const key: unique symbol = Symbol.for('agentlightning.global-fetch');

type Installed = typeof fetch & { [key]?: Installation | undefined };

/**
 * Wraps the global fetch in a layer. Adapters share one replaced global function; removing the last layer restores the
 * original. Clients that kept the replaced function pass through the remaining layers.
 *
 * @returns removes the layer; safe in any order, and more than once
 */
export function layGlobalFetch(layer: FetchLayerMaker): () => void {
  const installation = (globalThis.fetch as Installed)[key] ?? install();
  // A new function, so that the same layer can be added and removed twice.
  const own: FetchLayerMaker = (inner) => layer(inner);
  rebuild(installation, [...installation.layers, own]);
  return () => {
    rebuild(
      installation,
      installation.layers.filter((other) => other !== own),
    );
    restore();
  };
}

/**
 * Replaces the global `fetch` with a {@link redirectedFetch}, for frameworks whose clients look it up.
 *
 * @returns restores it; safe in any order, and more than once
 *
 * @example
 * ```ts
 * const undo = redirectGlobalFetch({ position: () => steps.positionOf(runId) });
 * ```
 */
export function redirectGlobalFetch(options: Omit<RedirectedFetchOptions, 'fetch'> = {}): () => void {
  return layGlobalFetch((inner) => redirectedFetch({ ...options, fetch: inner }));
}

function install(): Installation {
  const before = globalThis.fetch;
  const installation: Installation = { before, layers: [], current: before };
  const patched: typeof fetch = (input, init) => installation.current(input, init);
  // Keeps properties of the original global function, such as `preconnect`, accessible.
  Object.defineProperties(patched, Object.getOwnPropertyDescriptors(before));
  Object.defineProperties(patched, {
    [key]: { value: installation, configurable: true },
    [layerKey]: { get: () => ({ inner: installation.current }), configurable: true },
  });
  // Defined, not assigned: where runners keep assignments within the rollout that makes them, adapters are for all rollouts.
  Object.defineProperty(globalThis, 'fetch', { value: patched, writable: true, enumerable: true, configurable: true });
  return installation;
}

function rebuild(installation: Installation, layers: readonly FetchLayerMaker[]): void {
  installation.layers = layers;
  installation.current = layers.reduce((inner, layer) => layer(inner), installation.before);
}

/** Removes replaced global functions that have no layers. */
function restore(): void {
  for (;;) {
    const installation = (globalThis.fetch as Installed)[key];
    if (installation === undefined || installation.layers.length > 0) return;
    globalThis.fetch = installation.before;
  }
}
