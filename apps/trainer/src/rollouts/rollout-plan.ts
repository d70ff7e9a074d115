import { createHash } from 'node:crypto';
import type { JsonValue, RolloutMode } from '@agentlightning/core';
import type { EnqueueRolloutRequest } from '@agentlightning/core/store';

/** A task and where it stands in its file. */
export interface NumberedTask {
  readonly index: number;
  readonly input: JsonValue;
}

/**
 * The tasks of a training step: the whole list is shuffled once an epoch, and steps take the next
 * ones in turn. It depends on the seed and the step alone, so a resumed run draws the same tasks.
 *
 * @param options.tasks - at least one
 * @param options.step - from 1
 */
export function tasksOfStep(options: {
  readonly tasks: readonly JsonValue[];
  readonly tasksPerStep: number;
  readonly step: number;
  readonly seed: number;
}): readonly NumberedTask[] {
  const { tasks, tasksPerStep, step, seed } = options;
  const first = (step - 1) * tasksPerStep;
  return Array.from({ length: tasksPerStep }, (_, offset) => {
    const position = first + offset;
    const epoch = Math.floor(position / tasks.length);
    const index = shuffledIndex({ position: position % tasks.length, count: tasks.length, seed: `${seed}/${epoch}` });
    return { index, input: tasks[index] ?? null };
  });
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

/** What the rollouts of one step or evaluation have in common. */
export interface RolloutPlanOptions {
  readonly runId: string;
  /** `step-7` or `before`: names the step or evaluation within the run; other weights need another name. */
  readonly phase: string;
  readonly step: number;
  readonly mode: RolloutMode;
  readonly tasks: readonly NumberedTask[];
  readonly rolloutsPerTask: number;
  readonly resourcesId: string;
  readonly timeoutMs: number;
  readonly maxAttempts: number;
}

/**
 * The rollouts of a step, group after group. Their ids follow from run, phase, place and sample, so
 * that enqueueing them again after a crash finds those that are there already.
 */
export function planRollouts(options: RolloutPlanOptions): readonly EnqueueRolloutRequest[] {
  const { runId, phase, step, mode, resourcesId } = options;
  return options.tasks.flatMap((task, place) =>
    Array.from({ length: options.rolloutsPerTask }, (_, sample) => ({
      rolloutId: `ro-${digest(`${runId}/${phase}/${place}/${sample}`).slice(0, 12)}`,
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
        group_id: `${phase}/${place}`,
        // What the gateway makes seeds of: not the id, which is another one in another run.
        sampling_key: `${phase}/${place}/${sample}`,
      },
    })),
  );
}
