import * as z from 'zod';
import type { FoundRollout, RolloutSearch, RolloutSearchPage } from '../../store/rollout-search.ts';
import { optionsCodec, recordCodec } from './wire-fields.ts';
import { rolloutFilterFields } from './wire-query.ts';
import { rolloutCodec } from './wire-rollout.ts';

/** Rollout filters with text and rewards, an extension of the Agent Lightning 0.3 protocol. */
export const rolloutSearchCodec: z.ZodType<RolloutSearch> = optionsCodec<RolloutSearch>({
  ...rolloutFilterFields,
  text: ['text', z.string().nullish()],
  minReward: ['min_reward', z.number().nullish()],
  maxReward: ['max_reward', z.number().nullish()],
  label: ['label', z.enum(['good', 'bad', 'none', 'any']).nullish()],
  sortBy: ['sort_by', z.enum(['creation', 'reward']).nullish()],
  sortOrder: ['sort_order', z.enum(['asc', 'desc']).nullish()],
  limit: ['limit', z.number().nullish()],
  cursor: ['cursor', z.string().nullish()],
});

const foundRolloutCodec: z.ZodType<FoundRollout> = recordCodec<FoundRollout>({
  rollout: ['rollout', rolloutCodec],
  reward: ['reward', z.number().nullable()],
  label: ['label', z.enum(['good', 'bad']).nullable()],
});

/** One page of found rollouts. */
export const rolloutSearchPageCodec: z.ZodType<RolloutSearchPage> = recordCodec<RolloutSearchPage>({
  items: ['items', z.array(foundRolloutCodec)],
  nextCursor: ['next_cursor', z.string().nullable()],
  total: ['total', z.number()],
  unindexed: ['unindexed', z.number()],
});
