import * as z from 'zod';
import type { GroupQuery, GroupStatistics } from '../../store/group-statistics.ts';
import { fieldCodec, optionsCodec, recordCodec, seconds } from './wire-fields.ts';

/** Filters of groups, as URL parameters. */
export const groupQueryCodec: z.ZodType<GroupQuery> = optionsCodec<GroupQuery>({
  startTimeFromMs: ['start_time_from', seconds.optional()],
});

/** Groups of rollouts, in one object. */
export const groupsCodec: z.ZodType<readonly GroupStatistics[]> = fieldCodec(
  'items',
  z.array(
    recordCodec<GroupStatistics>({
      step: ['step', z.int()],
      taskIndex: ['task_index', z.int()],
      rollouts: ['rollouts', z.int()],
      failed: ['failed', z.int()],
      meanReward: ['mean_reward', z.number().nullable()],
      minReward: ['min_reward', z.number().nullable()],
      maxReward: ['max_reward', z.number().nullable()],
      firstStartTimeMs: ['first_start_time', seconds],
      lastStartTimeMs: ['last_start_time', seconds],
      rolloutId: ['rollout_id', z.string()],
    }),
  ),
);
