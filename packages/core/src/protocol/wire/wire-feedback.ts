import * as z from 'zod';
import { type Feedback, type FeedbackInput, feedbackSources } from '../../spans/feedback.ts';
import type { FeedbackPage, FeedbackQuery } from '../../store/queries.ts';
import { optionsCodec, recordCodec, seconds, type WireFields } from './wire-fields.ts';

/** Maximum number of characters of a correction or a comment. */
const maxText = 32_768;
const text = z.string().max(maxText).nullish();

const feedbackFields: WireFields<FeedbackInput> = {
  rolloutId: ['rollout_id', z.string()],
  id: ['id', z.string().nullish()],
  source: ['source', z.enum(feedbackSources).nullish()],
  user: ['user', z.string().min(1).max(512).nullish()],
  timeMs: ['time', seconds.nullish()],
  score: ['score', z.number().nullish()],
  label: ['label', z.enum(['good', 'bad', 'none']).nullish()],
  correction: ['correction', text],
  comment: ['comment', text],
  preferredOver: ['preferred_over', z.string().nullish()],
};

/** Feedback to record, an extension of the Agent Lightning 0.3 protocol as are all of its routes. */
export const feedbackInputCodec: z.ZodType<FeedbackInput> = optionsCodec<FeedbackInput>(feedbackFields);

/** Recorded feedback; fields that it does not have are absent. */
export const feedbackCodec: z.ZodType<Feedback> = optionsCodec<Feedback>({
  ...feedbackFields,
  attemptId: ['attempt_id', z.string()],
  id: ['id', z.string()],
  source: ['source', z.enum(feedbackSources)],
  timeMs: ['time', seconds],
});

/** Filters of feedback, as URL parameters. */
export const feedbackQueryCodec: z.ZodType<FeedbackQuery> = optionsCodec<FeedbackQuery>({
  runId: ['run_id', z.string().optional()],
  rolloutId: ['rollout_id', z.string().optional()],
  timeFromMs: ['time_from', seconds.optional()],
  limit: ['limit', z.number().optional()],
  cursor: ['cursor', z.string().optional()],
});

/** One page of feedback. */
export const feedbackPageCodec: z.ZodType<FeedbackPage> = recordCodec<FeedbackPage>({
  items: ['items', z.array(feedbackCodec)],
  nextCursor: ['next_cursor', z.string().nullable()],
});
