import { layerKey } from './fetch-layer.ts';
import { type RedirectedFetchOptions, redirectedFetch } from './redirected-fetch.ts';

/** Puts a fetch over another. */
export type FetchLayerMaker = (inner: typeof fetch) => typeof fetch;

/** A global fetch of ours, and what lies in it. */
interface Installation {
  readonly before: typeof fetch;
  layers: readonly FetchLayerMaker[];
  /** The layers over `before`, made anew when one comes or goes. */
  current: typeof fetch;
}

const key: unique symbol = Symbol.for('agentlightning.global-fetch');

type Installed = typeof fetch & { [key]?: Installation | undefined };

/**
 * Lays a fetch over the global one. Several adapters share one replaced global; when the last layer goes, the global
 * is exactly what it was. Clients that kept the replaced function pass through the layers that are left.
 *
 * @returns takes the layer away again; safe in any order, and more than once
 */
export function layGlobalFetch(layer: FetchLayerMaker): () => void {
  const installation = (globalThis.fetch as Installed)[key] ?? install();
  // A function of its own, so that the same layer can be laid, and taken away, twice.
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
 * Makes the global `fetch` a {@link redirectedFetch}, for frameworks whose clients look it up.
 *
 * @returns undoes it; safe in any order, and more than once
 *
 * @example
 * ```ts
 * const undo = redirectGlobalFetch({ place: () => steps.placeOf(runId) });
 * ```
 */
export function redirectGlobalFetch(options: Omit<RedirectedFetchOptions, 'fetch'> = {}): () => void {
  return layGlobalFetch((inner) => redirectedFetch({ ...options, fetch: inner }));
}

function install(): Installation {
  const before = globalThis.fetch;
  const installation: Installation = { before, layers: [], current: before };
  const patched: typeof fetch = (input, init) => installation.current(input, init);
  // What others keep on the global function, such as a `preconnect`, stays within reach.
  Object.defineProperties(patched, Object.getOwnPropertyDescriptors(before));
  Object.defineProperties(patched, {
    [key]: { value: installation, configurable: true },
    [layerKey]: { get: () => ({ inner: installation.current }), configurable: true },
  });
  globalThis.fetch = patched;
  return installation;
}

function rebuild(installation: Installation, layers: readonly FetchLayerMaker[]): void {
  installation.layers = layers;
  installation.current = layers.reduce((inner, layer) => layer(inner), installation.before);
}

/** Takes the global functions of ours away that have nothing in them any more. */
function restore(): void {
  for (;;) {
    const installation = (globalThis.fetch as Installed)[key];
    if (installation === undefined || installation.layers.length > 0) return;
    globalThis.fetch = installation.before;
  }
}
