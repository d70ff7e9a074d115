import type { AlgorithmOptions, AlgorithmType } from '@agentlightning/algorithms';
import type { TaskSchema } from '@agentlightning/core/internal';
import type { AgentContext } from '@agentlightning/runner';
import { z } from 'zod';
import type { TaskSource } from '../task-source.ts';
import type { DataSource } from './data-config.ts';
import type { SamplingConfig } from './sampling-config.ts';
import type { StopConfig } from './stop-config.ts';

/**
 * A stage of a training. What it does not set is that of the configuration. Evaluations are those of the configuration in every
 * stage, so that they can be compared.
 *
 * @example
 * ```ts
 * stages: [
 *   { algorithm: 'sft', data: 'demonstrations.jsonl', steps: 40 },
 *   { algorithm: 'grpo', steps: 60, from: 'final' },
 * ]
 * ```
 */
export interface StageConfig {
  /** Training algorithm: a name, or a name with options. */
  readonly algorithm: AlgorithmType | AlgorithmOptions;
  /** The number of its training steps, at least 1. */
  readonly steps: number;
  /**
   * The checkpoint of the stage before that it begins with, with a new optimizer: that with the best evaluation
   * (`evaluation.every`), without evaluations the last one; or `final`, always the last one. The first stage begins with
   * `checkpoints.from`.
   *
   * @default 'best'
   */
  readonly from?: 'best' | 'final';
  /** @default `tasksPerStep` of the configuration */
  readonly tasksPerStep?: number;
  /** Stored rollouts or examples to train on, without new rollouts: as `data` of a configuration. @default none: rollouts */
  readonly data?: DataSource;
  /** Training tasks. @default those of the configuration */
  readonly tasks?: {
    readonly train: TaskSource;
    /** Schema of these tasks. @default `tasks.schema` of the configuration */
    readonly schema?: TaskSchema;
  };
  /**
   * The agent of its training rollouts, such as one that replays demonstrations. A reward of the configuration scores it
   * too. @default the agent of the configuration
   */
  readonly agent?: (task: never, context: AgentContext) => unknown;
  /** Sampling of its training rollouts. @default `sampling` of the configuration */
  readonly sampling?: SamplingConfig;
  /** Conditions that end the stage early. @default {} */
  readonly stop?: StopConfig;
}

/** Keys that a configuration with stages has in the stages only. */
export const stageKeys = ['algorithm', 'steps', 'stop', 'data'] as const;

/** A stage whose settings are not validated. */
export interface GivenStage {
  readonly algorithm: string | Readonly<Record<string, unknown>>;
  readonly steps: number;
  readonly from: 'best' | 'final';
  readonly tasks?: { readonly train?: unknown; readonly schema?: unknown } | undefined;
  readonly agent?: unknown;
  readonly tasksPerStep?: unknown;
  readonly data?: unknown;
  readonly sampling?: unknown;
  readonly stop?: unknown;
}

/** The shape of a stage; its settings are validated as those of a training. */
export const stageSchema: z.ZodType<GivenStage> = z.strictObject({
  algorithm: z.union([z.string(), z.record(z.string(), z.unknown())]),
  steps: z.int().min(1),
  from: z.enum(['best', 'final']).default('best'),
  tasksPerStep: z.unknown().optional(),
  data: z.unknown().optional(),
  tasks: z.strictObject({ train: z.unknown(), schema: z.unknown().optional() }).optional(),
  agent: z.custom((value) => typeof value === 'function', 'must be a function (task, context) => reward').optional(),
  sampling: z.unknown().optional(),
  stop: z.unknown().optional(),
});
