import type { ScoredTrajectory } from '../advantage/score-trajectories.ts';

/**
 * Leaves out groups whose rollouts all have advantage 0, so that they do not count in the averages of the loss either:
 * what is left weighs as if they had not been sampled (dynamic sampling: DAPO, arXiv 2503.14476, section 3.2, without
 * sampling others in their place).
 */
export function leaveOutConstantGroups(scored: readonly ScoredTrajectory[]): readonly ScoredTrajectory[] {
  const teaching = new Set(
    scored
      .filter(({ advantages }) => advantages.flat().some((advantage) => advantage !== null && advantage !== 0))
      .map(({ trajectory }) => trajectory.groupId),
  );
  return scored.filter(({ trajectory }) => teaching.has(trajectory.groupId));
}
