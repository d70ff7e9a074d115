import type { ModelConfig } from '../model/model-config.ts';

/**
 * Keys and values of a sequence's tokens, for every layer. Append-only, so another sequence with the same prefix can
 * copy them at any time.
 */
export class KeyValueCache {
  /** One array per layer, positions × width. */
  keys: readonly Float32Array[];
  /** One array per layer, positions × width. */
  values: readonly Float32Array[];
  /** Positions written. */
  length: number = 0;
  readonly #width: number;
  #capacity: number;

  constructor(config: ModelConfig, capacity: number) {
    this.#width = config.width;
    this.#capacity = capacity;
    this.keys = Array.from({ length: config.layers }, () => new Float32Array(capacity * config.width));
    this.values = Array.from({ length: config.layers }, () => new Float32Array(capacity * config.width));
  }

  /** Ensures capacity for `positions` positions in total. */
  reserve(positions: number): void {
    if (positions <= this.#capacity) return;
    this.#capacity = Math.max(positions, this.#capacity * 2);
    this.keys = this.keys.map((array) => grown(array, this.#capacity * this.#width));
    this.values = this.values.map((array) => grown(array, this.#capacity * this.#width));
  }

  /** Copies the first `positions` positions of another sequence. Only for an empty cache. */
  copyPrefix(source: KeyValueCache, positions: number): void {
    this.reserve(positions);
    const elements = positions * this.#width;
    for (const [layer, array] of this.keys.entries()) copyStart(source.keys[layer], array, elements);
    for (const [layer, array] of this.values.entries()) copyStart(source.values[layer], array, elements);
    this.length = positions;
  }
}

function grown(array: Float32Array, size: number): Float32Array {
  const larger = new Float32Array(size);
  larger.set(array);
  return larger;
}

function copyStart(source: Float32Array | undefined, target: Float32Array, elements: number): void {
  if (source) target.set(source.subarray(0, elements));
}
