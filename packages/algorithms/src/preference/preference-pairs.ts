/** An item of a task with its reward. */
export interface Judged {
  readonly groupId: string;
  /** Null without a reward, which is not zero: the item is excluded from all pairs. */
  readonly reward: number | null;
}

/** Two items of the same task, one with a higher reward. */
export interface PreferencePair<TJudged> {
  readonly chosen: TJudged;
  readonly rejected: TJudged;
}

/** Selection of preference pairs. */
export interface PairOptions {
  /** Minimum difference of the rewards, above 0. @default any difference */
  readonly minGap?: number;
  /** Maximum number of pairs per task; those with the largest difference are kept. @default 1 */
  readonly pairsPerTask?: number;
}

/**
 * The pairs of each task: the best with the worst, the second best with the second worst, and so on. An item is in at most
 * one pair. Equal rewards keep the input order.
 */
export function preferencePairs<TJudged extends Judged>(
  judged: readonly TJudged[],
  { minGap = 0, pairsPerTask = 1 }: PairOptions = {},
): readonly PreferencePair<TJudged>[] {
  return [...Map.groupBy(judged, ({ groupId }) => groupId).values()].flatMap((members) => {
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
