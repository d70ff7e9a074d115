import type { ScoredTrajectory } from '../advantage/score-trajectories.ts';
import { seededRandom, shuffled } from '../base/seeded-random.ts';

/** Trajectories with a limited number of trained turns. */
export interface SampledTurns {
  readonly scored: readonly ScoredTrajectory[];
  /** Number of turns that are not trained on. */
  readonly leftOut: number;
}

/**
 * Keeps at most `maxTurns` turns of each rollout, drawn by the seed, so that a very long rollout does not dominate a step.
 * The others remain as context. Advantages are computed before, so baselines do not change.
 */
export function sampleTurns(scored: readonly ScoredTrajectory[], maxTurns: number, seed: number): SampledTurns {
  const random = seededRandom(seed);
  let leftOut = 0;
  const sampled = scored.map(({ trajectory, advantages }) => {
    const places = advantages.flatMap((row, rowIndex) =>
      row.flatMap((advantage, turn) => (advantage === null ? [] : [`${rowIndex}/${turn}`])),
    );
    if (places.length <= maxTurns) return { trajectory, advantages };
    const kept = new Set(shuffled(places, random).slice(0, maxTurns));
    leftOut += places.length - kept.size;
    return {
      trajectory,
      advantages: advantages.map((row, rowIndex) =>
        row.map((advantage, turn) => (kept.has(`${rowIndex}/${turn}`) ? advantage : null)),
      ),
    };
  });
  return { scored: sampled, leftOut };
}
