import type { AlgorithmOptions, AlgorithmType } from '@agentlightning/algorithms';
import type { TaskSchema } from '@agentlightning/core/internal';
import type { Agent } from '@agentlightning/runner';
import type { PolicyConfig } from './policies.ts';
import type { AgentsConfig } from './sections/agents-config.ts';
import type { CheckpointsConfig } from './sections/checkpoints-config.ts';
import type { CollectionConfig } from './sections/collection-config.ts';
import type { DataSource } from './sections/data-config.ts';
import type { EvaluationConfig } from './sections/evaluation-config.ts';
import type { GatewayConfig } from './sections/gateway-config.ts';
import type { LimitsConfig } from './sections/limits-config.ts';
import type { ConfiguredReward } from './sections/reward-config.ts';
import type { RunConfig, StoreConfig } from './sections/run-config.ts';
import type { RuntimeConfig } from './sections/runtime-config.ts';
import type { SamplingConfig } from './sections/sampling-config.ts';
import type { StageConfig } from './sections/stages-config.ts';
import type { StopConfig } from './sections/stop-config.ts';
import type { StoredTasks } from './sections/stored-tasks.ts';

/** What trainings and prompt searches have in common. */
export interface SharedConfig<TTask = unknown, TOutput = unknown> {
  /** The agent: runs one task, returns its reward; with `reward`, its output. */
  readonly agent: Agent<TTask, TOutput>;
  /** How agents run. @default {} */
  readonly agents?: AgentsConfig;
  /** @default {} */
  readonly store?: StoreConfig;
  /** The gateway between agents and models. @default {} */
  readonly gateway?: GatewayConfig;
  /** Timeouts and numbers of tries. @default {} */
  readonly limits?: LimitsConfig;
  /**
   * Computes the reward from the task, the agent's output and its trace, in the process of the agent: a function, or parts by
   * name. It also has the range of rewards and their substitutes.
   *
   * @default {}, for an agent that returns its reward
   */
  readonly reward?: ConfiguredReward<TTask, TOutput>;
  /** Name, tags, seed, folder and prices of the run. @default {} */
  readonly run?: RunConfig;
}

/** The configuration of a training. */
export interface TrainConfig<TTask = unknown, TOutput = unknown> extends SharedConfig<TTask, TOutput> {
  /** Tasks as JSON-lines files (relative to the configuration file), as lists, or in the store, by `fromStore`. */
  readonly tasks: {
    readonly train: string | readonly TTask[] | StoredTasks;
    /** Held out: measured before and after, never trained on. */
    readonly test: string | readonly TTask[] | StoredTasks;
    /**
     * Held out as well: measured during training (`evaluation.every`), for the selection of the final checkpoint
     * (`checkpoints.finish`) and for `stop.patience`. With it, the result on `test` is unbiased.
     *
     * @default `test`, whose result is then biased towards the selected checkpoint
     */
    readonly validation?: string | readonly TTask[] | StoredTasks;
    /**
     * Schema of a task, of zod, Valibot, ArkType or another library with Standard Schema; invalid tasks are reported with
     * file, line and field. @default any JSON object
     */
    readonly schema?: TaskSchema<TTask>;
  };
  /** Training algorithm: a name, or a name with options. @default 'grpo' */
  readonly algorithm?: AlgorithmType | AlgorithmOptions;
  /**
   * Several models in one run, by name, such as one per agent. Each is trained on the calls that it served, with its own
   * batches, optimizer and checkpoints; rollouts and evaluations are shared. Each is also a resource of this name, for
   * agents that select a model.
   *
   * @default one model for all calls
   */
  readonly policies?: Readonly<Record<string, PolicyConfig>>;
  /** @default { type: 'embedded' } */
  readonly runtime?: RuntimeConfig;
  /** Total number of training steps. A finished run that is resumed with more steps continues. @default 30 */
  readonly steps?: number;
  /** Number of tasks per step, each with `algorithm.groupSize` rollouts. @default 16 */
  readonly tasksPerStep?: number;
  /** Which tasks a step has, and whether rollouts of later steps run while the optimizer steps. @default { mode: 'sync' } */
  readonly collection?: CollectionConfig;
  /**
   * Sampling of training rollouts, which replaces the parameters of the agent's requests. Evaluations have it too, unless
   * `evaluation.sampling` differs.
   *
   * @default { temperature: 1 }
   */
  readonly sampling?: SamplingConfig;
  /** Evaluations on held-out tasks. @default {} */
  readonly evaluation?: EvaluationConfig;
  /** Which weights the run begins with, keeps and ends with. @default {} */
  readonly checkpoints?: CheckpointsConfig;
  /** Conditions that end the run early. @default {} */
  readonly stop?: StopConfig;
  /**
   * Trainings one after the other in one run, such as an imitation of demonstrations before reinforcement learning: each begins
   * with a checkpoint of the one before. `algorithm`, `steps` and `stop` are then of the stages.
   *
   * @default one training
   */
  readonly stages?: readonly StageConfig[];
}

/** The configuration of a training on stored rollouts or examples: no agent runs for it, except in evaluations. */
export interface StoredTrainConfig<TTask = unknown, TOutput = unknown>
  extends Omit<TrainConfig<TTask, TOutput>, 'agent' | 'tasks' | 'collection' | 'policies' | 'stages'> {
  /**
   * What is trained on: the rollouts of a run or of a deployment in production (`fromRun`), or conversations, preference pairs or
   * responses with a verdict in a JSON-lines file or in a data set of the store (`fromStore({ dataset: 'name@1' })`), in the formats
   * of `agl dataset`. A step has `tasksPerStep` groups of them: the rollouts of one task, or the responses to one prompt.
   *
   * Algorithms of the policy-gradient family need the token ids and log-probabilities that a gateway has recorded, and weigh
   * tokens by their importance (`samplerCorrection`, by default truncated at 2). `sft`, `dpo` and `kto` also train on messages
   * without token ids, which the embedded runtime and the built-in sampler of the GPU runtime encode.
   */
  readonly data: DataSource;
  /** Needed for `tasks.test`. @default none */
  readonly agent?: Agent<TTask, TOutput>;
  /** Tasks of evaluations before, during and after training. @default none: the run ends without a verdict */
  readonly tasks?: Partial<Omit<TrainConfig<TTask, TOutput>['tasks'], 'train'>>;
}
