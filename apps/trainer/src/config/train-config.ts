import type { AlgorithmOptions, AlgorithmType } from '@agentlightning/algorithms';
import type { LoraConfig } from '@agentlightning/core/training-runtime';
import type { Agent } from '@agentlightning/runner';
import type { z } from 'zod';
import type { CollectionConfig } from '../collection/collection-settings.ts';
import type { CurriculumConfig } from '../curriculum/curriculum-settings.ts';
import type { DiagnosisConfig } from '../diagnosis/diagnosis-settings.ts';
import type { WarningName } from '../diagnosis/run-warning.ts';

/** Where training happens. */
export type RuntimeConfig =
  | {
      /** A tiny model trained and served on this machine's CPU, in a separate process. */
      readonly type: 'embedded';
      /** Which of the embedded runtime's models to start from. @default 'tiny-chat' */
      readonly model?: string;
    }
  | {
      /** A runtime that is already running, here or on a GPU machine. */
      readonly type: 'grpc';
      /** `host:port`. */
      readonly address: string;
      /** One of the runtime's base models. @default its first one */
      readonly model?: string;
      /** The runtime's key. @default none */
      readonly apiKey?: string;
      /**
       * API key of the model endpoint that the runtime names, for the gateway of this process.
       * @default `apiKey` for an endpoint on this machine, else none
       */
      readonly inferenceApiKey?: string;
      /** How the connection is encrypted. @default the system's authorities; nothing on this machine */
      readonly tls?: RuntimeTls;
      /** Trains LoRA on a frozen base instead of all weights; the runtime must be able to. @default all weights */
      readonly lora?: LoraConfig;
      /** SHA-256 of the tokenizer that is meant, in hexadecimal; a runtime with another is refused. @default any */
      readonly tokenizerSha256?: string;
      /** SHA-256 of the chat template that is meant, in hexadecimal; a runtime with another is refused. @default any */
      readonly chatTemplateSha256?: string;
    };

/** Who is trusted on the way to a runtime. All in PEM. */
export interface RuntimeTls {
  /** Certificates of a private authority. @default those of the system */
  readonly authority?: string;
  /** The trainer's own certificate, for a runtime that asks for one. @default none */
  readonly certificate?: string;
  /** The key of `certificate`. */
  readonly privateKey?: string;
  /** The name that the runtime's certificate is for, when it is not that of `address`: through a tunnel. */
  readonly serverName?: string;
}

/** Where the store is. */
export interface StoreConfig {
  /** `sqlite:<file>` for an embedded store (relative to the configuration file), `http(s)://…` for a store server. @default 'sqlite:<dataDir>/agl.db' */
  readonly url?: string;
  /** The store server's key. @default none */
  readonly apiKey?: string;
}

/** How the model is sampled. An absent field is left to the agent's own request. */
export interface SamplingConfig {
  /** Above 0 for training: without chance there is nothing to compare. */
  readonly temperature?: number;
  /** Nucleus sampling; keep 1 for training, so that the recorded log-probabilities are the policy's. */
  readonly topP?: number;
  /** Upper bound of the response's length, in tokens. */
  readonly maxTokens?: number;
}

/** How held-out tasks are measured. */
export interface EvaluationConfig {
  /** Measure every so many steps besides before and after; 0 for never. @default 0 */
  readonly every?: number;
  /** How many held-out tasks to use at most. @default 128 */
  readonly tasks?: number;
  /** How often each task is tried. @default 1 */
  readonly rolloutsPerTask?: number;
  /** @default the training sampling */
  readonly sampling?: SamplingConfig;
  /** What a rollout counts whose agent failed; null excludes it. @default 0 */
  readonly failedReward?: number | null;
  /** What a rollout counts that succeeded without a reward; null excludes it. @default null */
  readonly missingReward?: number | null;
  /** The lowest and the highest reward possible, for confidence intervals. @default rewards.range */
  readonly rewardRange?: readonly [low: number, high: number];
}

/** How the rewards of the agent are read. */
export interface RewardsConfig {
  /**
   * The lowest and the highest reward possible. Rewards outside of it are counted in `reward/out_of_range` and reported.
   *
   * @default 0 to 1, or wider as observed; nothing is reported
   */
  readonly range?: readonly [low: number, high: number];
  /**
   * The dimensions of the reward, by name, with the range of each. Mean, standard deviation and share of each dimension are
   * metrics of every step, also without this. `rewardWeights` of the algorithm weighs them.
   *
   * @default {}
   */
  readonly parts?: Readonly<Record<string, { readonly range?: readonly [low: number, high: number] }>>;
}

/** What ends a run before its last step. The held-out tasks are evaluated then, as after the last step. */
export interface StopConfig {
  /** The warnings that end the run. @default none */
  readonly warnings?: readonly WarningName[];
  /** Number of evaluations in a row without an improvement of the best reward; requires `evaluation.every`. @default unlimited */
  readonly patience?: number;
  /**
   * By how much the reward of an evaluation must exceed the best one before to count as an improvement, at least 0.
   * `interval`: by half of the 95 % confidence interval of the best one, so that noise does not count.
   *
   * @default 0
   */
  readonly minDelta?: number | 'interval';
}

/** One of several models that are at work in the same rollouts. */
export interface PolicyConfig {
  /**
   * Agents whose calls it serves and learns from: by name, or by the path from the outermost agent on (`boss>expert`).
   * Calls of all others go to the first policy. A call that asks for the policy by its name as `model` goes to it in any
   * case.
   *
   * @default none
   */
  readonly agents?: readonly string[];
  /** How it learns. @default the configuration's `algorithm` */
  readonly algorithm?: AlgorithmOptions;
  /** One of the runtime's base models. @default that of `runtime` */
  readonly model?: string;
  /** False for a model that only serves, with its initial weights. @default true */
  readonly train?: boolean;
}

/** The configuration of a training. */
export interface TrainConfig<TTask = unknown> {
  /** A name for people. @default the configuration file's folder */
  readonly name?: string;
  /** The agent: runs one task, returns its reward. */
  readonly agent: Agent<TTask>;
  /** Tasks as JSON-lines files (relative to the configuration file) or as lists. */
  readonly tasks: {
    readonly train: string | readonly TTask[];
    /** Held out: measured before and after, never trained on. */
    readonly test: string | readonly TTask[];
    /**
     * Held out as well: measured during training (`evaluation.every`), for the selection of the final checkpoint (`finish`)
     * and for `stopWhen.patience`. With it, the result on `test` is unbiased.
     *
     * @default `test`, whose result is then biased towards the selected checkpoint
     */
    readonly validation?: string | readonly TTask[];
  };
  /** Checks each task; a wrong line is reported with file, line and field. @default any JSON object */
  readonly taskSchema?: z.ZodType<TTask>;
  /** How to learn: a name, or a name with options. @default 'grpo' with vetted defaults */
  readonly algorithm?: AlgorithmType | AlgorithmOptions;
  /**
   * Several models in one run, by name: one for each agent, say. Each is trained on the calls that it served, with
   * its own batches, optimizer and checkpoints; rollouts and evaluations are shared. Each is also a resource of this
   * name, for agents that select a model.
   *
   * @default one model for all calls
   */
  readonly policies?: Readonly<Record<string, PolicyConfig>>;
  /** @default { type: 'embedded' } */
  readonly runtime?: RuntimeConfig;
  /**
   * The checkpoint of another run of this store and runtime that a new run begins with: `<run>@final`, `<run>@best`,
   * `<run>@latest` or `<run>@<step>`. Its weights are taken; optimizer, steps and policy versions begin anew. Base model, LoRA
   * and names of `policies` must be the same. A resumed run ignores it.
   *
   * @default the base model
   */
  readonly from?: string;
  readonly store?: StoreConfig;
  /**
   * Signs the keys of agents, with which each speaks for its own attempt alone; a gateway that runs elsewhere has the
   * same. Several, with commas in between, while one takes the place of another. @default a random one in `dataDir`, for
   * a gateway in this process; none for one that runs elsewhere
   */
  readonly tokenSecret?: string;
  /** The base URL of a gateway that runs elsewhere. @default one in this process */
  readonly gatewayUrl?: string;
  /**
   * Further names of fields whose values the gateway of this process redacts in recorded request and response bodies.
   * @default the usual names of credentials, such as `api_key` and `extra_headers`
   */
  readonly secretFields?: readonly string[];
  /**
   * How long a model server may be silent within a response to the gateway of this process, in milliseconds.
   *
   * @default 600000
   */
  readonly upstreamTimeoutMs?: number;
  /**
   * Limit for the first byte of a response to the gateway of this process, in milliseconds; then the call fails over to
   * another model server. A response that is not streamed has its first byte when it is complete.
   *
   * @default upstreamTimeoutMs
   */
  readonly firstByteTimeoutMs?: number;
  /** Training steps in all. A finished run that is resumed with more steps continues. @default 30 */
  readonly steps?: number;
  /** How many tasks each step uses; each is tried `algorithm.groupSize` times. @default 16 */
  readonly tasksPerStep?: number;
  /** Whether rollouts of later steps run while the optimizer steps. @default { mode: 'sync' } */
  readonly collection?: CollectionConfig;
  /**
   * Weights training tasks by their pass rates. It must not change when the run is resumed.
   *
   * @default every task is drawn equally often: the task list, shuffled once per epoch
   */
  readonly curriculum?: CurriculumConfig;
  /** How many rollouts run at a time. @default 32 */
  readonly concurrency?: number;
  /**
   * The number of processes that run agents, from 0 to 256; they share the concurrency. 0 for runners
   * elsewhere only. @default 1
   */
  readonly workers?: number;
  /**
   * Whether agents run in the trainer's process, where one that blocks the event loop or exits ends the training. Always so
   * for an agent that was passed to `Trainer` as a function, which cannot be sent to another process. @default false
   */
  readonly inProcess?: boolean;
  /** A rollout that takes longer has failed, in milliseconds. @default 60000 */
  readonly rolloutTimeoutMs?: number;
  /** How often a failing rollout is tried. @default 1 */
  readonly maxAttempts?: number;
  /**
   * How long the store, gateway or model endpoint may be unavailable before the run ends, in milliseconds. Rollouts that an
   * outage failed are run again. @default 30000
   */
  readonly outageToleranceMs?: number;
  /** How long a run with `workers: 0` waits for a runner before it ends, in milliseconds. @default 600000 */
  readonly runnerTimeoutMs?: number;
  /**
   * How many times in a row, without a finished step or evaluation between them, the run resumes from its last checkpoint
   * after its runtime was lost: the embedded one is started again, a remote one has to be restarted. @default 3
   */
  readonly maxRestarts?: number;
  /**
   * The share of held-out rollouts without a reward, before and after together, above which the run does not decide
   * whether the agent improved. From 0 to 1. @default 0.05
   */
  readonly maxMissingShare?: number;
  /** @default { temperature: 1 } */
  readonly sampling?: SamplingConfig;
  readonly evaluation?: EvaluationConfig;
  /**
   * Save every so many steps, and after the last one. A resumed run continues from the last saved step.
   *
   * @default 1 with the embedded runtime; 10 with a runtime of type `grpc`, whose checkpoints are large
   */
  readonly checkpointEvery?: number;
  /** How many checkpoints are kept, the newest ones; a resumed run needs the newest. @default 3 */
  readonly keepCheckpoints?: number;
  /**
   * Whether the checkpoint with the best evaluation during training (`evaluation.every`) is kept besides.
   * @default true
   */
  readonly keepBestCheckpoint?: boolean;
  /**
   * Which checkpoint a run ends with: the one that is served at the end, measured on the test tasks and exported. `best`: the
   * one with the best evaluation of the kept ones, which includes the last step; without `evaluation.every` it is the last one.
   * Training that is resumed with more steps continues from the last one in either case.
   *
   * @default 'best'
   */
  readonly finish?: 'best' | 'last';
  /**
   * Stop early when a step's mean reward stays at or above this for three steps. It covers all collected groups, also those
   * that `collection.refillGroups` replaced.
   *
   * @default never
   */
  readonly stopAtReward?: number;
  /** Further reasons to stop early. @default {} */
  readonly stopWhen?: StopConfig;
  /** How rewards are read. @default {} */
  readonly rewards?: RewardsConfig;
  /** Thresholds of the warnings about a run that does not learn. @default {} */
  readonly diagnosis?: DiagnosisConfig;
  /**
   * Stop when trainer and sampler disagree on the sampled tokens' log-probabilities by more than this on
   * average, in nats: it means that tokens are misaligned. Steps with rollouts of older weights are not checked. 16-bit
   * engines need a larger value. @default 0.1
   */
  readonly maxLogprobGap?: number;
  /** Where run data lies. @default '.agl' beside the configuration file */
  readonly dataDir?: string;
  /** Everything drawn at random comes from it. @default 0 */
  readonly seed?: number;
}
