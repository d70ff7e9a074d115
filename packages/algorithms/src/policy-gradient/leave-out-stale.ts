import type { ScoredTrajectory } from '../advantage/score-trajectories.ts';

/** Trajectories without their stale turns. */
export interface FreshTrajectories {
  readonly scored: readonly ScoredTrajectory[];
  /** How many turns are not trained on because their policy was too old. */
  readonly staleTurns: number;
}

/**
 * Takes turns out of training that were sampled by a policy more than so many versions old. They were compared before, so
 * the baseline of the others does not change. A turn of unknown version stays.
 */
export function leaveOutStale(
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
