import { createHash } from 'node:crypto';
import type { JsonValue, RolloutMode } from '@agentlightning/core';
import type { EnqueueRolloutRequest } from '@agentlightning/core/store';
import type { LimitsSettings } from '../config/sections/limits-config.ts';

/** The planned rollouts of one set of prompts. */
export interface TrialPlan {
  readonly runId: string;
  /** Identifies the trial in the run; equal in every process that runs it. */
  readonly occasion: string;
  /** Identifies the prompts. */
  readonly promptsDigest: string;
  readonly split: 'train' | 'validation' | 'test';
  /** The tasks with their positions in the split. */
  readonly tasks: readonly { readonly index: number; readonly input: JsonValue }[];
  readonly rolloutsPerTask: number;
  readonly resourcesId: string;
  readonly limits: Pick<LimitsSettings, 'rolloutTimeoutMs' | 'maxAttempts'>;
}

const modes: Readonly<Record<TrialPlan['split'], RolloutMode>> = { train: 'train', validation: 'val', test: 'test' };

/**
 * The rollouts of a trial, in the order of the tasks. Their ids are derived from run, occasion, prompts and task, so that
 * a resumed search finds completed rollouts.
 */
export function planTrial(plan: TrialPlan): readonly EnqueueRolloutRequest[] {
  const { runId, occasion, promptsDigest, split, resourcesId, limits } = plan;
  return plan.tasks.flatMap(({ index, input }) =>
    Array.from({ length: plan.rolloutsPerTask }, (_, sample) => ({
      rolloutId: rolloutId([runId, occasion, promptsDigest, index, sample]),
      input,
      mode: modes[split],
      resourcesId,
      runId,
      config: {
        timeoutMs: limits.rolloutTimeoutMs,
        maxAttempts: limits.maxAttempts,
        retryCondition: ['failed', 'timeout', 'unresponsive'] as const,
      },
      metadata: {
        phase: split,
        occasion,
        prompts: promptsDigest,
        task_index: index,
        sample,
        // Base of the gateway's seeds; the rollout's id would differ in another run.
        sampling_key: `${occasion}/${promptsDigest}/${index}/${sample}`,
      },
    })),
  );
}

function rolloutId(parts: readonly (string | number)[]): string {
  return `ro-${createHash('sha256').update(JSON.stringify(parts)).digest('hex').slice(0, 12)}`;
}
