import type { RunStatus } from '@agentlightning/core/store';
import {
  listOf,
  numberOf,
  optionalBoolean,
  optionalNumber,
  optionalObject,
  optionalText,
  textOf,
  timeMsOf,
  type WireRecord,
} from './json.ts';

/** A checkpoint of a run. */
export interface RunCheckpoint {
  readonly step: number;
  readonly uri: string;
}

/** What the held-out rewards before and after training show; `undecided` when too many are missing. */
export type RunVerdict = 'better' | 'worse' | 'not-significant' | 'undecided';

/** The state of a run on the server. */
export interface RunInfo {
  readonly runId: string;
  readonly name: string;
  readonly status: RunStatus;
  /** The number of runs before it in the queue; null when it does not wait. */
  readonly position: number | null;
  /** The last finished step. */
  readonly step: number;
  /** The number of steps in all; null before the run has started. */
  readonly steps: number | null;
  /** Mean held-out reward before training; null until it is measured. */
  readonly rewardBefore: number | null;
  /** Mean held-out reward after training; null until it is measured. */
  readonly rewardAfter: number | null;
  /** By a paired t-test, 5 %; null until both rewards are measured. */
  readonly verdict: RunVerdict | null;
  /** Whether the held-out reward rose (paired t-test, 5 %); null when undecided. */
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

/** Reads a run in a response. @throws AgentLightningError INTERNAL for a malformed response */
export function runInfoOf(record: WireRecord): RunInfo {
  return {
    runId: textOf(record, 'run_id'),
    name: textOf(record, 'name'),
    status: textOf(record, 'status') as RunStatus,
    position: optionalNumber(record, 'position'),
    step: numberOf(record, 'step'),
    steps: optionalNumber(record, 'steps'),
    rewardBefore: optionalNumber(record, 'reward_before'),
    rewardAfter: optionalNumber(record, 'reward_after'),
    verdict: optionalText(record, 'verdict') as RunVerdict | null,
    isImproved: optionalBoolean(record, 'improved'),
    pValue: optionalNumber(record, 'p_value'),
    rewardCurve: listOf(record['reward_curve'], 'reward_curve').map(Number),
    checkpoint: checkpointOf(record, 'checkpoint'),
    bestCheckpoint: checkpointOf(record, 'best_checkpoint'),
    createTimeMs: timeMsOf(record, 'create_time'),
    updateTimeMs: timeMsOf(record, 'update_time'),
  };
}

function checkpointOf(record: WireRecord, name: string): RunCheckpoint | null {
  const checkpoint = optionalObject(record, name);
  return checkpoint === null ? null : { step: numberOf(checkpoint, 'step'), uri: textOf(checkpoint, 'uri') };
}
