import type { RolloutLabel } from '../spans/feedback.ts';
import type { RolloutQuery } from './queries.ts';
import type { AttemptedRollout, Rollout } from './rollout.ts';

/** Rollout filters with text and rewards. All filters must match; an empty list matches nothing. */
export interface RolloutSearch extends Omit<RolloutQuery, 'filterLogic' | 'sortBy' | 'sortOrder' | 'limit' | 'offset'> {
  /**
   * Words that the rollout contains, in any order: in its task input, the messages, tool calls and outputs of its latest
   * attempt, or an error message. Case is ignored. A word that ends with `*` matches all words that start with it.
   * Only finished rollouts are searchable by text; each contributes its first 500 kB of distinct words.
   */
  readonly text?: string;
  /** Lowest reward of the latest attempt; excludes rollouts without a reward. */
  readonly minReward?: number;
  /** Highest reward of the latest attempt; excludes rollouts without a reward. */
  readonly maxReward?: number;
  /** A person's label of the latest attempt; `none` for rollouts without one, `any` for those with one. @default all */
  readonly label?: RolloutLabel | 'none' | 'any';
  /** `reward` lists only rollouts with a reward. @default 'creation' */
  readonly sortBy?: 'creation' | 'reward';
  /** @default 'desc' newest or highest first */
  readonly sortOrder?: 'asc' | 'desc';
  /** Maximum number of rollouts, 1 to 1000. @default 100 */
  readonly limit?: number;
  /** `nextCursor` of the previous page of the same search. @default the beginning */
  readonly cursor?: string;
}

/** A rollout that a search found. */
export interface FoundRollout {
  /** With its latest attempt, if it has one. */
  readonly rollout: Rollout | AttemptedRollout;
  /** Primary dimension of the last reward of the latest attempt; null without one. */
  readonly reward: number | null;
  /** A person's last label of the latest attempt; null without one. */
  readonly label: RolloutLabel | null;
}

/** One page of found rollouts. */
export interface RolloutSearchPage {
  /** The rollouts of the page. */
  readonly items: readonly FoundRollout[];
  /** Cursor of the next page; null on the last one. */
  readonly nextCursor: string | null;
  /** Number of rollouts that the search matched when its first page was read. */
  readonly total: number;
  /**
   * Number of finished rollouts whose text is not indexed yet; each search by text indexes some of them first. 0 without
   * `text`.
   */
  readonly unindexed: number;
}
