import type { AlgorithmOptions, AlgorithmType } from '@agentlightning/algorithms';
import type { LoraConfig } from '@agentlightning/core/training-runtime';
import type { Agent } from '@agentlightning/runner';
import type { z } from 'zod';
import type { CollectionConfig } from './sections/collection-settings.ts';
import type { CurriculumConfig } from './sections/curriculum-settings.ts';
import type { DiagnosisConfig } from './sections/diagnosis-settings.ts';
import type { PricesConfig } from './sections/prices-config.ts';
import type { StopConfig } from './sections/stop-config.ts';

/** The runtime that trains and serves the model. */
export type RuntimeConfig =
  | {
      /** A tiny model trained and served on this machine's CPU, in a separate process. */
      readonly type: 'embedded';
      /** Initial model, one of the embedded runtime's models. @default 'tiny-chat' */
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
       * API key of the runtime's model endpoint, for the gateway of this process.
       * @default `apiKey` for an endpoint on this machine, else none
       */
      readonly inferenceApiKey?: string;
      /** TLS settings. @default the system's certificate authorities; no TLS to this machine */
      readonly tls?: RuntimeTls;
      /** Trains LoRA adapters on a frozen base model, if the runtime supports it. @default full fine-tuning */
      readonly lora?: LoraConfig;
      /** Expected SHA-256 of the tokenizer, in hexadecimal; a runtime with another tokenizer is rejected. @default any */
      readonly tokenizerSha256?: string;
      /** Expected SHA-256 of the chat template, in hexadecimal; a runtime with another template is rejected. @default any */
      readonly chatTemplateSha256?: string;
    };

/** TLS certificates of the connection to a runtime, in PEM format. */
export interface RuntimeTls {
  /** Certificates of a private certificate authority. @default the system's authorities */
  readonly authority?: string;
  /** Client certificate of the trainer, for a runtime that requires one. @default none */
  readonly certificate?: string;
  /** Private key of `certificate`. */
  readonly privateKey?: string;
  /**
   * Server name in the runtime's certificate, if it differs from `address`, as with a tunnel.
   * @default the host of `address`
   */
  readonly serverName?: string;
}

/** Location of the store. */
export interface StoreConfig {
  /** `sqlite:<file>` for an embedded store (relative to the configuration file), `http(s)://…` for a store server. @default 'sqlite:<dataDir>/agl.db' */
  readonly url?: string;
  /** The store server's key. @default none */
  readonly apiKey?: string;
}

/** Sampling parameters. Absent fields are taken from the agent's request. */
export interface SamplingConfig {
  /** Sampling temperature; above 0 for training, because greedy samples do not differ. */
  readonly temperature?: number;
  /** Nucleus sampling. Use 1 for training: otherwise the recorded log-probabilities are not those of the policy. */
  readonly topP?: number;
  /** Maximum length of a response, in tokens. */
  readonly maxTokens?: number;
}

/** Settings of evaluations. */
export interface EvaluationConfig {
  /** Number of steps between evaluations during training, in addition to those before and after; 0 for none. @default 0 */
  readonly every?: number;
  /** Maximum number of held-out tasks. @default 128 */
  readonly tasks?: number;
  /** Number of rollouts per task. @default 1 */
  readonly rolloutsPerTask?: number;
  /** @default the training sampling */
  readonly sampling?: SamplingConfig;
  /** Reward of a rollout whose agent failed; null excludes it. @default `failedReward` of the training */
  readonly failedReward?: number | null;
  /** Reward of a rollout that succeeded without one; null excludes it. @default null */
  readonly missingReward?: number | null;
  /** Lowest and highest possible reward, for confidence intervals. @default `rewards.range` */
  readonly rewardRange?: readonly [low: number, high: number];
}

/** Range and dimensions of rewards. */
export interface RewardsConfig {
  /**
   * Lowest and highest possible reward. Rewards outside this range are counted in `reward/out_of_range` and reported.
   *
   * @default 0 to 1, extended to the observed rewards; nothing is reported
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

/** One of several models that serve the same rollouts. */
export interface PolicyConfig {
  /**
   * Agents whose calls it serves and is trained on: by name, or by the path from the outermost agent (`boss>expert`). Calls
   * of other agents are routed to the first policy. A call whose `model` is the name of a policy is always routed to it.
   *
   * @default none
   */
  readonly agents?: readonly string[];
  /** Further names by which agents request it, as `modelNames` of a run without `policies`. @default none */
  readonly modelNames?: readonly string[];
  /** Its training algorithm. @default the configuration's `algorithm` */
  readonly algorithm?: AlgorithmOptions;
  /** One of the runtime's base models. @default that of `runtime` */
  readonly model?: string;
  /** False for a model that only serves, with its initial weights. @default true */
  readonly train?: boolean;
}

/** What agents in worker processes get. */
export interface AgentsConfig {
  /**
   * Names of the environment variables that they get, besides basic ones: `PATH`, `HOME`, `USER`, `LOGNAME`, `LANG`, `LC_*`,
   * `TZ`, `TMPDIR`, `NODE_*` without credentials. `agl runner` has `--agent-env`. @default all but the keys and secrets of
   * Agent Lightning, which are never passed on
   */
  readonly env?: readonly string[];
}

/** The configuration of a training. */
export interface TrainConfig<TTask = unknown> {
  /** Display name. @default the configuration file's folder */
  readonly name?: string;
  /** Labels that the dashboard filters runs by. @default none */
  readonly tags?: readonly string[];
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
  /**
   * Reward of a rollout whose agent failed, in training and evaluations: it threw, for example on a malformed response, or
   * exceeded its timeout. null excludes such rollouts from both. Infrastructure failures never count: of a service, or of a
   * model that had not responded for half of the timeout or longer.
   *
   * @default 0
   */
  readonly failedReward?: number | null;
  /** Schema of a task; invalid tasks are reported with file, line and field. @default any JSON object */
  readonly taskSchema?: z.ZodType<TTask>;
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
  /**
   * The names by which the agent requests the policy, such as `gpt-4.1`. Calls of other models are then rejected with 404 by
   * the gateway of this process: a judge is not the policy. Exclude them in the adapter (`shouldTrace`, `shouldRedirect`).
   *
   * @default any name is the policy; two of them cause a warning
   */
  readonly modelNames?: readonly string[];
  /** @default { type: 'embedded' } */
  readonly runtime?: RuntimeConfig;
  /**
   * Initial checkpoint, of another run in this store and runtime: `<run>@final`, `<run>@best`, `<run>@latest` or
   * `<run>@<step>`. Only the weights are loaded; optimizer, steps and policy versions start new. Base model, LoRA and names
   * of `policies` must be equal. A resumed run ignores it.
   *
   * @default the base model
   */
  readonly from?: string;
  readonly store?: StoreConfig;
  /**
   * Secret that signs attempt tokens, the credentials of agents. An external gateway requires the same secret. For rotation,
   * give several, separated by commas: the first one signs. @default a random secret in `dataDir`, for a gateway in this
   * process; none with an external gateway
   */
  readonly tokenSecret?: string;
  /** Base URL of an external gateway. @default a gateway in this process */
  readonly gatewayUrl?: string;
  /**
   * Additional field names that the gateway of this process redacts in recorded request and response bodies. @default only
   * common names of credentials, such as `api_key` and `extra_headers`
   */
  readonly secretFields?: readonly string[];
  /**
   * Idle timeout within a response of a model server to the gateway of this process, in milliseconds.
   *
   * @default 600000
   */
  readonly upstreamTimeoutMs?: number;
  /**
   * Timeout of the first byte of a response to the gateway of this process, in milliseconds; the call then fails over to
   * another model server. The first byte of a response that is not streamed arrives when it is complete.
   *
   * @default with several model servers, four times the longest of their recent responses, at least 15 s; else
   * upstreamTimeoutMs
   */
  readonly firstByteTimeoutMs?: number;
  /** Total number of training steps. A finished run that is resumed with more steps continues. @default 30 */
  readonly steps?: number;
  /** Number of tasks per step, each with `algorithm.groupSize` rollouts. @default 16 */
  readonly tasksPerStep?: number;
  /** Whether rollouts of later steps run while the optimizer steps. @default { mode: 'sync' } */
  readonly collection?: CollectionConfig;
  /**
   * Weights training tasks by their pass rates. It must not change when the run is resumed.
   *
   * @default every task is drawn equally often: the task list, shuffled once per epoch
   */
  readonly curriculum?: CurriculumConfig;
  /** Number of concurrent rollouts. @default 32 */
  readonly concurrency?: number;
  /**
   * Number of processes that run agents, from 0 to 256; they share the concurrency. 0 for external runners only. @default 1
   */
  readonly workers?: number;
  /**
   * Whether agents run in the trainer's process, where one that blocks the event loop or exits ends the training. Always so
   * for an agent that was passed to `Trainer` as a function, which cannot be sent to another process. @default false
   */
  readonly inProcess?: boolean;
  /** What agents in worker processes get. @default {} */
  readonly agents?: AgentsConfig;
  /** Timeout of a rollout, in milliseconds. @default 60000 */
  readonly rolloutTimeoutMs?: number;
  /** Maximum number of attempts per rollout. @default 1 */
  readonly maxAttempts?: number;
  /**
   * Maximum outage of store, gateway or model endpoint before the run ends, in milliseconds. Rollouts that failed because of
   * an outage are repeated. @default 30000
   */
  readonly outageToleranceMs?: number;
  /** Maximum wait of a run with `workers: 0` for a runner, in milliseconds. @default 600000 */
  readonly runnerTimeoutMs?: number;
  /**
   * Maximum number of successive resumptions from the last checkpoint after the loss of the runtime, without a finished step
   * or evaluation in between. The embedded runtime is started again; a remote runtime must be restarted. @default 3
   */
  readonly maxRestarts?: number;
  /** Maximum share of held-out rollouts without a reward, from 0 to 1; above it, the run gives no verdict. @default 0.05 */
  readonly maxMissingShare?: number;
  /**
   * Sampling of training rollouts, which replaces the parameters of the agent's requests. Evaluations have it too, unless
   * `evaluation.sampling` differs.
   *
   * @default { temperature: 1 }
   */
  readonly sampling?: SamplingConfig;
  readonly evaluation?: EvaluationConfig;
  /**
   * Number of steps between checkpoints; the last step is always saved. A resumed run continues from the last saved step.
   *
   * @default 1 with the embedded runtime; 10 with a runtime of type `grpc`, whose checkpoints are large
   */
  readonly checkpointEvery?: number;
  /** Number of newest checkpoints that are kept; a resumed run needs the newest. @default 3 */
  readonly keepCheckpoints?: number;
  /**
   * Whether the checkpoint with the best evaluation during training (`evaluation.every`) is kept in addition.
   * @default true
   */
  readonly keepBestCheckpoint?: boolean;
  /**
   * The final checkpoint, which is served at the end, evaluated on the test tasks and exported. `best`: the kept checkpoint
   * with the best evaluation, including the last step, and the later of equal ones; without `evaluation.every` the last one. A
   * selected earlier checkpoint is measured with at least four rollouts of each task, up to 512 in all. A run resumed with more
   * steps always continues from the last one.
   *
   * @default 'best'
   */
  readonly finish?: 'best' | 'last';
  /**
   * Mean reward of a step that ends the run when it is reached in three successive steps. It includes groups that were
   * replaced by `collection.refillGroups`.
   *
   * @default never
   */
  readonly stopAtReward?: number;
  /** Further conditions that end the run early. @default {} */
  readonly stopWhen?: StopConfig;
  /** Range and dimensions of rewards. @default {} */
  readonly rewards?: RewardsConfig;
  /** Thresholds of the warnings about a run that does not learn. @default {} */
  readonly diagnosis?: DiagnosisConfig;
  /**
   * Maximum mean difference between the log-probabilities of trainer and sampler, in nats; a larger one ends the run,
   * because it indicates misaligned tokens. It is that of the tokens which the current weights have sampled, also with
   * `samplerCorrection`. 16-bit engines need a larger value. @default 0.1
   */
  readonly maxLogprobGap?: number;
  /**
   * Prices of model calls and of the training runtime, from which `agl runs`, `agl show` and the dashboard compute costs. They
   * are recorded when the run is created. @default none: no cost is shown
   */
  readonly prices?: PricesConfig;
  /** Folder of run data. @default '.agl' in the folder of the configuration file */
  readonly dataDir?: string;
  /** Seed of all random draws. @default 0 */
  readonly seed?: number;
}
