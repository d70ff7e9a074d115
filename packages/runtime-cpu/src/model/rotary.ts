import type { ModelConfig } from './model-config.ts';

/** Cosines and sines of the rotary position embedding (Su et al. 2021), each positions × half a head's width. */
export interface RotaryTable {
  readonly cosines: Float32Array<ArrayBuffer>;
  readonly sines: Float32Array<ArrayBuffer>;
}

/** The rotary table of these positions. Halves of a head are paired, as Llama does. */
export function rotaryTable(config: ModelConfig, positions: ArrayLike<number>): RotaryTable {
  const half = config.width / config.heads / 2;
  const cosines = new Float32Array(positions.length * half);
  const sines = new Float32Array(positions.length * half);
  const frequencies = Float64Array.from({ length: half }, (_, i) => config.ropeBase ** (-i / half));
  for (let at = 0; at < positions.length; at++) {
    for (const [i, frequency] of frequencies.entries()) {
      const angle = (positions[at] ?? 0) * frequency;
      cosines[at * half + i] = Math.cos(angle);
      sines[at * half + i] = Math.sin(angle);
    }
  }
  return { cosines, sines };
}
