import type { SupervisedOptions } from './supervised-options.ts';

/** Selection of rollouts to imitate. */
export type Selection = Pick<SupervisedOptions, 'minReward' | 'keepBest'>;

/** The selected rollouts by group, in descending order of reward; all of them without a selection. */
export function selectBest<TJudged extends { readonly groupId: string; readonly reward: number | null }>(
  judged: readonly TJudged[],
  { minReward, keepBest }: Selection,
): readonly TJudged[] {
  if (minReward === undefined && keepBest === undefined) return judged;
  return [...Map.groupBy(judged, ({ groupId }) => groupId).values()].flatMap((members) =>
    members
      .flatMap((one) => (one.reward === null ? [] : [{ one, reward: one.reward }]))
      .filter(({ reward }) => reward >= (minReward ?? Number.NEGATIVE_INFINITY))
      // Sorting is stable, so the result is deterministic for equal rewards.
      .sort((left, right) => right.reward - left.reward)
      .slice(0, keepBest ?? Infinity)
      .map(({ one }) => one),
  );
}
