import * as z from 'zod';
import type { StoreChange, WatchOptions } from '../../store/store-change.ts';
import { wireAttemptStatusSchema } from './wire-attempt.ts';
import { optionsCodec, recordCodec, type WireFields } from './wire-fields.ts';
import { wireRolloutStatusSchema } from './wire-rollout.ts';
import { wireRunStatusSchema } from './wire-run.ts';

type Kind = StoreChange['kind'];

const rolloutId = ['rollout_id', z.string()] as const;
const attemptId = ['attempt_id', z.string()] as const;
const runId = ['run_id', z.string()] as const;
const runIdOrNull = ['run_id', z.string().nullable()] as const;

const fields: { readonly [TKind in Kind]: WireFields<Omit<Extract<StoreChange, { readonly kind: TKind }>, 'kind'>> } = {
  rollout: { rolloutId, runId: runIdOrNull, status: ['status', wireRolloutStatusSchema] },
  attempt: { rolloutId, attemptId, status: ['status', wireAttemptStatusSchema] },
  spans: { rolloutId, attemptId, count: ['count', z.int()], lastSequenceId: ['last_sequence_id', z.int()] },
  resources: { resourcesId: ['resources_id', z.string()], version: ['version', z.int()] },
  run: { runId, status: ['status', wireRunStatusSchema] },
  'rollout-deleted': { rolloutId, runId: runIdOrNull },
  'run-deleted': { runId },
  unknown: {},
};
const kinds = Object.keys(fields) as Kind[];

/** A store change as an event. An extension: the protocol of Agent Lightning 0.3 has no events. */
export const changeCodec: z.ZodType<StoreChange> = z.union(
  kinds.map((kind) => recordCodec({ kind: ['kind', z.literal(kind)], ...fields[kind] }) as z.ZodType<StoreChange>),
);

/** Filters of a watch. */
export type WatchQuery = Omit<WatchOptions, 'signal'>;

/** Codec of {@link WatchQuery}, as URL parameters. */
export const watchQueryCodec: z.ZodType<WatchQuery> = optionsCodec<WatchQuery>({
  kindIn: ['kind_in', z.array(z.enum(kinds)).nullish()],
  rolloutIdIn: ['rollout_id_in', z.array(z.string()).nullish()],
  runId: ['run_id', z.string().nullish()],
});
