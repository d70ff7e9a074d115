import type { JsonObject } from '../base/json.ts';

/** A model other than the trained one, whose log-probabilities an algorithm learns from. */
export type ExternalTeacher =
  /** A checkpoint of a run: `run-1a2b@best`. */
  | { readonly run: string }
  /** A base model of the runtime, by name. */
  | { readonly model: string }
  | EndpointTeacher;

/** A model behind an OpenAI-compatible endpoint that returns log-probabilities of prompt tokens (`prompt_logprobs`, as vLLM). */
export interface EndpointTeacher {
  /** Up to and with `/v1`. */
  readonly endpoint: string;
  /** The name to send as `model`. */
  readonly model: string;
  /** The environment variable with the key, `env('NAME')`: options of algorithms are recorded, so they hold no key. @default no key */
  readonly apiKey?: { readonly env: string };
}

/**
 * The model whose log-probabilities of sampled tokens an algorithm learns from: the weights in training, the initial weights
 * of the run, or another model.
 */
export type Teacher = 'current' | 'initial' | ExternalTeacher;

/** The beginning of a conversation, of which an algorithm needs the token ids. */
export interface PromptRequest {
  /** Its messages, in the format of chat completions. */
  readonly messages: readonly JsonObject[];
  /** Further fields of the request that the chat template reads: `tools`, `chat_template_kwargs`. */
  readonly fields: JsonObject;
}
