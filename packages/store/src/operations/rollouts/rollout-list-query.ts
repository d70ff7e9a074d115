import type { RolloutQuery, RolloutSearch } from '@agentlightning/core/store';
import type { SearchWord } from '../../text-search/search-words.ts';

/** The filters and the order of a list of rollouts, for lists and searches. */
export interface RolloutListQuery extends Omit<RolloutQuery, 'sortBy'> {
  readonly sortBy?: NonNullable<RolloutQuery['sortBy']> | 'reward';
  /** Words that a rollout must contain. @default any */
  readonly words?: readonly SearchWord[];
  /** A person's label of a rollout. @default any, or none */
  readonly label?: NonNullable<RolloutSearch['label']>;
  /** Excludes rollouts without a reward. */
  readonly minReward?: number;
  /** Excludes rollouts without a reward. */
  readonly maxReward?: number;
}
