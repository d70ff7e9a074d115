import { byGroup } from '../by-group.ts';
import type { SupervisedOptions } from './supervised-options.ts';

/** Which rollouts are good enough to be imitated. */
export type Selection = Pick<SupervisedOptions, 'minReward' | 'keepBest'>;

/** Those that are good enough, group by group, the best first; all of them when nothing is asked for. */
export function selectBest<TJudged extends { readonly groupId: string; readonly reward: number | null }>(
  judged: readonly TJudged[],
  { minReward, keepBest }: Selection,
): readonly TJudged[] {
  if (minReward === undefined && keepBest === undefined) return judged;
  return byGroup(judged).flatMap((members) =>
    members
      .flatMap((one) => (one.reward === null ? [] : [{ one, reward: one.reward }]))
      .filter(({ reward }) => reward >= (minReward ?? Number.NEGATIVE_INFINITY))
      // Sorting is stable, so equal rewards keep their order and the outcome is always the same.
      .sort((left, right) => right.reward - left.reward)
      .slice(0, keepBest ?? Infinity)
      .map(({ one }) => one),
  );
}
