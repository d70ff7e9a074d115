import { byGroup } from '../by-group.ts';

/** Something of a task that was judged. */
export interface Judged {
  readonly groupId: string;
  /** Null when missing, which is not zero: such a member is in no pair. */
  readonly reward: number | null;
}

/** Two of the same task, of which one was better. */
export interface PreferencePair<TJudged> {
  readonly chosen: TJudged;
  readonly rejected: TJudged;
}

/** Which pairs are made. */
export interface PairOptions {
  /** How much better the chosen one must be, above 0. @default any difference */
  readonly minGap?: number;
  /** At most so many pairs of each task, those of the largest difference. @default 1 */
  readonly pairsPerTask?: number;
}

/**
 * The pairs of each task: the best with the worst, the second best with the second worst, and so on, so that nothing is
 * in two pairs. Equal rewards keep the order they came in.
 */
export function preferencePairs<TJudged extends Judged>(
  judged: readonly TJudged[],
  { minGap = 0, pairsPerTask = 1 }: PairOptions = {},
): readonly PreferencePair<TJudged>[] {
  return byGroup(judged).flatMap((members) => {
    const bestFirst = members
      .flatMap((one) => (one.reward === null ? [] : [{ one, reward: one.reward }]))
      .sort((left, right) => right.reward - left.reward);
    const pairs: PreferencePair<TJudged>[] = [];
    for (let rank = 0; rank < Math.min(pairsPerTask, Math.floor(bestFirst.length / 2)); rank += 1) {
      const better = bestFirst[rank];
      const worse = bestFirst.at(-1 - rank);
      if (better === undefined || worse === undefined) break;
      const gap = better.reward - worse.reward;
      if (gap > 0 && gap >= minGap) pairs.push({ chosen: better.one, rejected: worse.one });
    }
    return pairs;
  });
}
