import type { PromptSearchOptions, PromptSearchType } from '@agentlightning/algorithms';
import type { JsonObject, PromptSearch } from '@agentlightning/core';
import type { EvaluationConfig, RuntimeConfig, TrainConfig } from './train-config.ts';

/** A model that is not trained: any OpenAI-compatible API. */
export interface EndpointRuntimeConfig {
  readonly type: 'endpoint';
  /** Up to and with `/v1`. */
  readonly baseUrl: string;
  readonly model: string;
  /** The environment variable that holds the key. @default none is sent */
  readonly apiKeyEnv?: string;
  /** The maximum number of concurrent calls; further calls are queued. @default no limit but `concurrency` */
  readonly maxConcurrent?: number;
}

/** The model that criticises and rewrites prompts: any OpenAI-compatible API. */
export interface OptimizerConfig {
  /** Up to and with `/v1`. */
  readonly baseUrl: string;
  readonly model: string;
  /** The environment variable that holds the key. @default none is sent */
  readonly apiKeyEnv?: string;
  /** The maximum number of concurrent requests. @default 8 */
  readonly maxConcurrent?: number;
  /** Timeout of a request, in milliseconds. @default 180000 */
  readonly timeoutMs?: number;
  /** Further fields of each request, such as `{ reasoning_effort: 'low' }`. @default none */
  readonly parameters?: JsonObject;
}

/** A prompt as a configuration gives it; what `definePrompt` makes is one. */
export interface PromptConfig {
  /** An f-string: `{question}` is a variable, `{{` and `}}` are braces. */
  readonly template: string;
  /** The variables that the template must have, no more and no fewer. @default those that it has */
  readonly variables?: readonly string[];
  /** The name that the agent asks for it by, where the configuration has a list. */
  readonly name?: string;
}

/** Keys that prompt searches and trainings share. */
type SharedKeys =
  | 'name'
  | 'agent'
  | 'taskSchema'
  | 'store'
  | 'tokenSecret'
  | 'gatewayUrl'
  | 'secretFields'
  | 'upstreamTimeoutMs'
  | 'firstByteTimeoutMs'
  | 'concurrency'
  | 'workers'
  | 'inProcess'
  | 'rolloutTimeoutMs'
  | 'maxAttempts'
  | 'outageToleranceMs'
  | 'runnerTimeoutMs'
  | 'maxRestarts'
  | 'maxMissingShare'
  | 'sampling'
  | 'dataDir'
  | 'seed';

/** The configuration of a prompt search. */
export interface PromptSearchConfig<TTask = unknown> extends Pick<TrainConfig<TTask>, SharedKeys> {
  /** How to search: a name, a name with options, or a search of one's own. */
  readonly algorithm: PromptSearchType | PromptSearchOptions | PromptSearch;
  /** What to begin with: the prompts that the agent defines, or templates by name. */
  readonly prompts: readonly PromptConfig[] | Readonly<Record<string, PromptConfig>>;
  /** Tasks as JSON-lines files (relative to the configuration file) or as lists. */
  readonly tasks: {
    /** What the optimiser model sees and learns from. */
    readonly train: string | readonly TTask[];
    /** What versions are chosen by. It should have nothing in common with `train`. */
    readonly validation: string | readonly TTask[];
    /**
     * Held out: measured with the first and the best version, and used for nothing else. The outcome on tasks that chose
     * the winner flatters it. @default the outcome is that on `validation`
     */
    readonly test?: string | readonly TTask[];
  };
  /** The model that criticises and rewrites. */
  readonly optimizer: OptimizerConfig;
  /** The model that the agent asks. @default { type: 'embedded' } */
  readonly runtime?: EndpointRuntimeConfig | RuntimeConfig;
  /** How `tasks.test` are measured. */
  readonly evaluation?: Omit<EvaluationConfig, 'every' | 'failedReward' | 'missingReward'>;
  /** The score of a rollout whose agent failed; null excludes it from every mean. @default 0 */
  readonly failedReward?: number | null;
  /** The score of a rollout without a reward; null excludes it from every mean. @default null */
  readonly missingReward?: number | null;
  /** Where the outcome is written, as JSON. @default `prompts/<run>.json` in `dataDir` */
  readonly promptsFile?: string;
}
