import * as z from 'zod';
import type { JsonObject } from '../../base/json.ts';
import type { RunStatus } from '../../store/run.ts';
import { recordCodec, seconds } from '../wire/wire-fields.ts';
import { wireJsonObject } from '../wire/wire-json.ts';
import { wireRunStatusSchema } from '../wire/wire-run.ts';

/** The possible verdicts. */
export const verdictNames = ['better', 'worse', 'not-significant', 'undecided'] as const;

/**
 * The comparison of two evaluations by a paired t-test, 5 % two-sided: significantly better or worse, no difference shown
 * (`not-significant`), or too many rewards are missing (`undecided`).
 */
export type VerdictName = (typeof verdictNames)[number];

/** A checkpoint of a run. */
export interface RunCheckpoint {
  readonly step: number;
  readonly uri: string;
}

/** The state of a run on a training server. */
export interface RunInfo {
  readonly runId: string;
  readonly name: string;
  readonly status: RunStatus;
  /** The number of runs before it in the queue; null when it does not wait. */
  readonly position: number | null;
  /** The settings of its training that the client has chosen. */
  readonly training: JsonObject;
  /** The last finished step. */
  readonly step: number;
  /** The number of steps in all; null before the run has started. */
  readonly steps: number | null;
  /** Mean held-out reward before training; null until it is measured. */
  readonly rewardBefore: number | null;
  /** Mean held-out reward after training; null until it is measured. */
  readonly rewardAfter: number | null;
  /** The comparison of both; null until they are measured. */
  readonly verdict: VerdictName | null;
  /** Whether the verdict is `better`; null when it is `undecided`, and until both rewards are measured. */
  readonly isImproved: boolean | null;
  /** The probability of a difference at least as large by chance; null until both rewards are measured. */
  readonly pValue: number | null;
  /** Mean training reward of each finished step. */
  readonly rewardCurve: readonly number[];
  /** The last checkpoint; null before the first. */
  readonly checkpoint: RunCheckpoint | null;
  /** The checkpoint with the best held-out reward, as far as measured, otherwise the last; null before the first. */
  readonly bestCheckpoint: RunCheckpoint | null;
  /** Unix milliseconds. */
  readonly createTimeMs: number;
  /** Unix milliseconds. */
  readonly updateTimeMs: number;
}

const checkpoint = z.object({ step: z.int(), uri: z.string() }).nullish();

/** Codec of {@link RunInfo}. Times are Unix seconds. */
export const runInfoCodec: z.ZodType<RunInfo> = recordCodec<RunInfo>({
  runId: ['run_id', z.string()],
  name: ['name', z.string()],
  status: ['status', wireRunStatusSchema],
  position: ['position', z.int().nullish()],
  training: ['training', wireJsonObject],
  step: ['step', z.int()],
  steps: ['steps', z.int().nullish()],
  rewardBefore: ['reward_before', z.number().nullish()],
  rewardAfter: ['reward_after', z.number().nullish()],
  verdict: ['verdict', z.enum(verdictNames).nullish()],
  isImproved: ['improved', z.boolean().nullish()],
  pValue: ['p_value', z.number().nullish()],
  rewardCurve: ['reward_curve', z.array(z.number())],
  checkpoint: ['checkpoint', checkpoint],
  bestCheckpoint: ['best_checkpoint', checkpoint],
  createTimeMs: ['create_time', seconds],
  updateTimeMs: ['update_time', seconds],
});
