import { createHash } from 'node:crypto';
import type { JsonValue, RolloutMode } from '@agentlightning/core';
import type { EnqueueRolloutRequest } from '@agentlightning/core/store';

/** A task with its index in the task list. */
export interface NumberedTask {
  readonly index: number;
  readonly input: JsonValue;
}

/**
 * The task at a position of the endless stream of tasks: the task list, shuffled once per epoch. It depends on seed and
 * position only: a resumed run draws the same tasks.
 *
 * @param options.tasks - at least one
 * @param options.position - from 0
 */
export function taskAt(options: {
  readonly tasks: readonly JsonValue[];
  readonly position: number;
  readonly seed: number;
}): NumberedTask {
  const { tasks, position, seed } = options;
  const epoch = Math.floor(position / tasks.length);
  const index = shuffledIndex({ position: position % tasks.length, count: tasks.length, seed: `${seed}/${epoch}` });
  return { index, input: tasks[index] ?? null };
}

const shuffles = new Map<string, readonly number[]>();

function shuffledIndex(options: { readonly position: number; readonly count: number; readonly seed: string }): number {
  const key = `${options.seed}/${options.count}`;
  let order = shuffles.get(key);
  if (order === undefined) {
    order = Array.from({ length: options.count }, (_, index) => index)
      .map((index) => ({ index, rank: digest(`${key}/${index}`) }))
      .sort((left, right) => (left.rank < right.rank ? -1 : 1))
      .map(({ index }) => index);
    shuffles.clear();
    shuffles.set(key, order);
  }
  return order[options.position] ?? 0;
}

function digest(text: string): string {
  return createHash('sha256').update(text).digest('hex');
}

/** The common settings of the rollouts of a step or evaluation. */
export interface RolloutPlanOptions {
  readonly runId: string;
  /** The step or evaluation within the run: `step-7` or `before`. Different weights need different phases. */
  readonly phase: string;
  /** The phase that sampling seeds are derived from: equal ones have equal seeds. @default phase */
  readonly samplingPhase?: string;
  readonly step: number;
  readonly mode: RolloutMode;
  readonly tasks: readonly NumberedTask[];
  readonly rolloutsPerTask: number;
  readonly resourcesId: string;
  readonly timeoutMs: number;
  readonly maxAttempts: number;
  /** The index of the stage of the run. @default null, without stages */
  readonly stage?: number | null;
  /** The seed of the run, for a gateway that is not started for it. @default null */
  readonly samplingSeed?: number | null;
}

/**
 * The rollouts of a step, ordered by group. Their ids are derived from run, phase, position and sample: enqueueing is
 * idempotent across a crash.
 */
export function planRollouts(options: RolloutPlanOptions): readonly EnqueueRolloutRequest[] {
  const { runId, phase, samplingPhase = phase, step, mode, resourcesId, stage = null, samplingSeed = null } = options;
  return options.tasks.flatMap((task, position) =>
    Array.from({ length: options.rolloutsPerTask }, (_, sample) => ({
      rolloutId: `ro-${digest(`${runId}/${phase}/${position}/${sample}`).slice(0, 12)}`,
      input: task.input,
      mode,
      resourcesId,
      runId,
      config: {
        timeoutMs: options.timeoutMs,
        maxAttempts: options.maxAttempts,
        retryCondition: ['failed', 'timeout', 'unresponsive'] as const,
      },
      metadata: {
        phase,
        step,
        task_index: task.index,
        sample,
        group_id: `${phase}/${position}`,
        // The gateway derives seeds from this key and not from the id: equal in all runs.
        sampling_key: `${samplingPhase}/${position}/${sample}`,
        ...(stage === null ? {} : { stage }),
        ...(samplingSeed === null ? {} : { sampling_seed: samplingSeed }),
      },
    })),
  );
}
