import type { Decoder } from './decoder.ts';
import type { PrefixCache } from './prefix-cache.ts';

/** One published version of a model's weights, with what was computed under it. */
export interface ServedWeights {
  readonly version: number;
  readonly decoder: Decoder;
  readonly prefixes: PrefixCache;
}
