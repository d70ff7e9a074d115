import type { Store } from '@agentlightning/core';
import type { Secret } from '@agentlightning/core/settings';
import type { EvaluationListener } from './evaluation-event.ts';

/** A model that is not trained, behind any OpenAI-compatible API. */
export interface EndpointModel {
  /** Up to and with `/v1`. */
  readonly baseUrl: string;
  /** The name that requests send as `model`. */
  readonly model: string;
  /** The key, such as `env('OPENAI_API_KEY')`. @default none is sent */
  readonly apiKey?: Secret;
}

/** Options of a run without training: an evaluation, or a few rollouts in development. */
export interface SubjectOptions {
  /**
   * The subject: model and prompts of the agent.
   *
   * - `base`: the initial model of the configuration, with its prompts.
   * - `<run>@best`, `<run>@latest`, `<run>@<step>`: a saved checkpoint of a training run.
   * - `<run>@best`, `<run>@latest`, `<run>@v3`: a version of a prompt search.
   * - A path that ends with `.json`: prompts in the format of a prompt search:
   *   `{ "prompts": { "<name>": { "template": … } } }`.
   * - `endpoint`: the model of {@link SubjectOptions.endpoint}.
   *
   * @default `endpoint` if one is given, else `base`
   */
  readonly of?: string;
  /** An OpenAI-compatible API. Prompts are evaluated with it instead of the model of the configuration. @default none */
  readonly endpoint?: EndpointModel;
  /** The id of the run in the store; `[A-Za-z0-9_-]{1,64}`. @default a random id */
  readonly runId?: string;
  /** An open store, instead of the configured one; it is not closed. */
  readonly store?: Store;
  /** Receives the events of the run. */
  readonly onEvent?: EvaluationListener;
  /** Stops the run. */
  readonly signal?: AbortSignal;
}

/** Options of an evaluation. */
export interface EvaluateOptions extends SubjectOptions {
  /** The subject to compare with, on the same tasks and sample indexes; as `of`. @default no comparison */
  readonly against?: string;
  /** The tasks: the path of a JSON-lines file, or a list. @default those of the configuration */
  readonly tasks?: string | readonly unknown[];
  /** The number of rollouts of each task, at least 1. @default `evaluation.rolloutsPerTask` of the configuration */
  readonly samples?: number;
  /**
   * `agent`: calls are sampled with the parameters of the agent's requests, as in production. `training`: with
   * `evaluation.sampling` of the configuration, by default that of the training.
   *
   * @default 'training'
   */
  readonly sampling?: 'agent' | 'training';
}
