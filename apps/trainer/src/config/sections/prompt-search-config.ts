import type { PromptSearchOptions, PromptSearchType } from '@agentlightning/algorithms';
import type { ExampleRollout, JsonObject, PromptKind } from '@agentlightning/core';
import type { PromptSearch } from '@agentlightning/core/algorithm';
import type { TaskSchema } from '@agentlightning/core/internal';
import type { Secret } from '@agentlightning/core/settings';
import type { SharedConfig } from '../train-config.ts';
import type { EvaluationConfig } from './evaluation-config.ts';
import type { RuntimeConfig } from './runtime-config.ts';
import type { SamplingConfig } from './sampling-config.ts';
import type { StoredTasks } from './stored-tasks.ts';

/** A model that is not trained, behind any OpenAI-compatible API. */
export interface EndpointRuntimeConfig {
  /** Selects an endpoint. */
  readonly type: 'endpoint';
  /** Up to and with `/v1`. */
  readonly baseUrl: string;
  /** The name that requests send as `model`. */
  readonly model: string;
  /** The key, such as `env('OPENAI_API_KEY')`. @default none is sent */
  readonly apiKey?: Secret;
  /** Maximum number of concurrent calls; further calls are queued. @default `concurrency` */
  readonly maxConcurrent?: number;
}

/** The model that criticises and rewrites prompts: any OpenAI-compatible API. */
export interface OptimizerConfig {
  /** Up to and with `/v1`. */
  readonly baseUrl: string;
  /** The name that requests send as `model`. */
  readonly model: string;
  /** The key, such as `env('OPENAI_API_KEY')`. @default none is sent */
  readonly apiKey?: Secret;
  /** The maximum number of concurrent requests. @default 8 */
  readonly maxConcurrent?: number;
  /** Timeout of a request, in milliseconds. @default 180000 */
  readonly timeoutMs?: number;
  /** Further fields of each request, such as `{ reasoning_effort: 'low' }`. @default none */
  readonly parameters?: JsonObject;
}

/** A prompt in a configuration, such as the result of `definePrompt` or `defineExamples`. */
export interface PromptConfig<TTask = unknown> {
  /** An f-string: `{question}` is a variable, `{{` and `}}` are braces. It may be empty for `examples`. */
  readonly template: string;
  /**
   * How the search changes it: the optimiser model rewrites an `instruction` and the description of a `tool`; `examples` are
   * drawn from training rollouts with good rewards.
   *
   * @default 'instruction'
   */
  readonly kind?: PromptKind;
  /** Maximum number of examples, from 1 to 32; required for `examples`, and not permitted for other kinds. */
  readonly count?: number;
  /** Text of a rollout as an example; required for `examples`, and not permitted for other kinds. */
  readonly example?: (rollout: ExampleRollout<TTask>) => string;
  /** The exact variables of the template. @default the variables in the template */
  readonly variables?: readonly string[];
  /** The prompt's name in the agent; required in a list. */
  readonly name?: string;
}

/** The configuration of a prompt search. */
export interface PromptSearchConfig<TTask = unknown, TOutput = unknown> extends SharedConfig<TTask, TOutput> {
  /** Search algorithm: a name, a name with options, or a custom search. */
  readonly algorithm: PromptSearchType | PromptSearchOptions | PromptSearch;
  /** Initial prompts: the prompts that the agent defines, or templates by name. */
  readonly prompts: readonly PromptConfig<NoInfer<TTask>>[] | Readonly<Record<string, PromptConfig<NoInfer<TTask>>>>;
  /** Tasks as JSON-lines files (relative to the configuration file), as lists, or in the store, by `fromStore`. */
  readonly tasks: {
    /** Tasks whose transcripts the optimiser model receives. */
    readonly train: string | readonly TTask[] | StoredTasks;
    /** Tasks by which versions are selected. They should not overlap with `train`. */
    readonly validation: string | readonly TTask[] | StoredTasks;
    /**
     * Held-out tasks: evaluated with the first and the best version only. The result on `validation` is biased towards the
     * selected version. @default the result on `validation` is reported
     */
    readonly test?: string | readonly TTask[] | StoredTasks;
    /** As in a training. @default any JSON object */
    readonly schema?: TaskSchema<TTask>;
  };
  /** The model that criticises and rewrites. @default none: permitted when all prompts are examples */
  readonly optimizer?: OptimizerConfig;
  /** The model of the agent. @default { type: 'embedded' } */
  readonly runtime?: EndpointRuntimeConfig | RuntimeConfig;
  /** Sampling of rollouts, which replaces the parameters of the agent's requests. @default {} */
  readonly sampling?: SamplingConfig;
  /** Evaluation on `tasks.test`. */
  readonly evaluation?: Omit<EvaluationConfig, 'every' | 'guards'>;
  /** Output file for the result, as JSON. @default `prompts/<run>.json` in `run.dataDir` */
  readonly promptsFile?: string;
}
