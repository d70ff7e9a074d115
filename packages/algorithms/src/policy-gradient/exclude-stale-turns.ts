import type { ScoredTrajectory } from '../advantage/score-trajectories.ts';

/** Trajectories without their stale turns. */
export interface FreshTrajectories {
  readonly scored: readonly ScoredTrajectory[];
  /** Number of turns excluded because their policy version was too old. */
  readonly staleTurns: number;
}

/**
 * Excludes turns sampled by a policy that is more than `maxStaleness` versions old. Advantages are computed before, so the
 * baseline of the other turns does not change. Turns of unknown version are kept.
 */
export function excludeStaleTurns(
  scored: readonly ScoredTrajectory[],
  policyVersion: number,
  maxStaleness: number,
): FreshTrajectories {
  let staleTurns = 0;
  const fresh = scored.map(({ trajectory, advantages }) => ({
    trajectory,
    advantages: trajectory.rows.map((row, rowIndex) =>
      row.trained.map(({ policyVersion: sampledBy }, turn) => {
        const advantage = advantages[rowIndex]?.[turn] ?? null;
        if (advantage === null || sampledBy === null || policyVersion - sampledBy <= maxStaleness) return advantage;
        staleTurns += 1;
        return null;
      }),
    ),
  }));
  return { scored: fresh, staleTurns };
}
