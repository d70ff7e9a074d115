import type { CallPlace } from './agent-step.ts';

/** Where a fetch of ours keeps its {@link FetchLayer}: one symbol for all adapters, and for all copies of this package. */
export const layerKey: unique symbol = Symbol.for('agentlightning.fetch-layer');

/** What one of our fetches lies over, and what it knows of the calls that go through it. */
export interface FetchLayer {
  readonly inner: typeof fetch;
  /** Where in the trace a call belongs that is made now. @default it does not know */
  readonly place?: (() => CallPlace | null) | undefined;
}

type Layered = typeof fetch & { [layerKey]?: FetchLayer | undefined };

/** Remembers what a fetch of ours was made over, so that a call is never handled twice, nor sent in a circle. */
export function markLayer(own: typeof fetch, layer: FetchLayer): typeof fetch {
  return Object.defineProperty(own, layerKey, { value: layer, configurable: true });
}

/** All that lie beneath a fetch of ours, from the outermost on; nothing when it is none of ours. */
export function layersOf(candidate: typeof fetch): readonly (typeof fetch)[] {
  const inner = (candidate as Layered)[layerKey]?.inner;
  return inner === undefined ? [] : [inner, ...layersOf(inner)];
}

/** The fetch beneath all of ours. */
export function bareFetch(candidate: typeof fetch): typeof fetch {
  return layersOf(candidate).at(-1) ?? candidate;
}

/** Whether `own` is the candidate, or lies beneath it. */
export function liesBeneath(own: typeof fetch, candidate: typeof fetch): boolean {
  return own === candidate || layersOf(candidate).includes(own);
}

/** Where a call belongs, by the outermost of our fetches that knows; null when none does. */
export function placeOfLayers(candidate: typeof fetch): CallPlace | null {
  let current: Layered = candidate;
  for (let layer = current[layerKey]; layer !== undefined; layer = current[layerKey]) {
    const place = layer.place?.() ?? null;
    if (place !== null) return place;
    current = layer.inner;
  }
  return null;
}
