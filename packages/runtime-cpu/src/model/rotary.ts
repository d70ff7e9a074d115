import type { ModelConfig } from './model-config.ts';

/** Cosines and sines of the rotary position embedding (Su et al. 2021), each positions × half a head's width. */
export interface RotaryTable {
  readonly cosines: Float32Array<ArrayBuffer>;
  readonly sines: Float32Array<ArrayBuffer>;
}

/** The rotary table for the first `positions` positions. Halves of a head are paired, as Llama does. */
export function rotaryTable(config: ModelConfig, positions: number): RotaryTable {
  const half = config.width / config.heads / 2;
  const cosines = new Float32Array(positions * half);
  const sines = new Float32Array(positions * half);
  for (let position = 0; position < positions; position++) {
    for (let i = 0; i < half; i++) {
      const angle = position / config.ropeBase ** (i / half);
      cosines[position * half + i] = Math.cos(angle);
      sines[position * half + i] = Math.sin(angle);
    }
  }
  return { cosines, sines };
}
