import type { Decoder } from './decoder.ts';
import type { PrefixCache } from './prefix-cache.ts';

/** A published version of a model's weights, with its caches. */
export interface ServedWeights {
  readonly version: number;
  readonly decoder: Decoder;
  readonly prefixes: PrefixCache;
}
