import type { TracePosition } from './agent-step.ts';

/**
 * Property of a wrapped fetch that holds its {@link FetchLayer}; shared by all adapters and all copies of this package.
 */
export const layerKey: unique symbol = Symbol.for('agentlightning.fetch-layer');

/** The fetch that a layer wraps, and the trace position it assigns to calls. */
export interface FetchLayer {
  readonly inner: typeof fetch;
  /** Trace position of a call made now. @default unknown */
  readonly position?: (() => TracePosition | null) | undefined;
}

type Layered = typeof fetch & { [layerKey]?: FetchLayer | undefined };

/** Records the wrapped fetch of a layer, which prevents duplicate handling and cycles. */
export function markLayer(own: typeof fetch, layer: FetchLayer): typeof fetch {
  return Object.defineProperty(own, layerKey, { value: layer, configurable: true });
}

/** All fetches that a layer wraps, outermost first; empty for a foreign fetch. */
export function layersOf(candidate: typeof fetch): readonly (typeof fetch)[] {
  const inner = (candidate as Layered)[layerKey]?.inner;
  return inner === undefined ? [] : [inner, ...layersOf(inner)];
}

/** The innermost fetch beneath all layers of this package. */
export function bareFetch(candidate: typeof fetch): typeof fetch {
  return layersOf(candidate).at(-1) ?? candidate;
}

/** Whether `own` is the candidate or is wrapped by it. */
export function isWrappedBy(own: typeof fetch, candidate: typeof fetch): boolean {
  return own === candidate || layersOf(candidate).includes(own);
}

/** Trace position from the outermost layer that knows it; null when none does. */
export function positionOfLayers(candidate: typeof fetch): TracePosition | null {
  let current: Layered = candidate;
  for (let layer = current[layerKey]; layer !== undefined; layer = current[layerKey]) {
    const position = layer.position?.() ?? null;
    if (position !== null) return position;
    current = layer.inner;
  }
  return null;
}
