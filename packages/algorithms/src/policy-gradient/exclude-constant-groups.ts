import type { ScoredTrajectory } from '../advantage/score-trajectories.ts';

/**
 * Excludes groups whose rollouts all have advantage 0, also from the averages of the loss (dynamic sampling: DAPO, arXiv
 * 2503.14476, section 3.2, without sampling replacements).
 */
export function excludeConstantGroups(scored: readonly ScoredTrajectory[]): readonly ScoredTrajectory[] {
  const teaching = new Set(
    scored
      .filter(({ advantages }) => advantages.flat().some((advantage) => advantage !== null && advantage !== 0))
      .map(({ trajectory }) => trajectory.groupId),
  );
  return scored.filter(({ trajectory }) => teaching.has(trajectory.groupId));
}
