/**
 * Description of an adapter and its framework for the adapter contract.
 *
 * The contract specifies agents and their input in framework-neutral terms; the adapter's test file builds them as its
 * framework documents. It should be parametric over the framework's module, so that the same file runs with other
 * versions.
 *
 * @module
 */

/**
 * Scenes, and aspects of scenes, that an adapter may not support:
 *
 * - `steps`: turns or nodes around model calls and tool calls
 * - `tool-calls`: spans of tool calls, with arguments and results
 * - `call-place`: the gateway's records are children of the model call's span, not only of its agent's
 * - `tool-definitions`: the definitions of the tools are recorded on the model call
 * - `partial-text`: the partial output of an interrupted stream is recorded in the model call's output messages
 *
 * The others are whole scenes.
 */
export type AdapterAbility =
  | 'steps'
  | 'tool-calls'
  | 'tool-definitions'
  | 'call-place'
  | 'partial-text'
  | 'parallel-tools'
  | 'multi-turn'
  | 'sub-agent'
  | 'structured-output'
  | 'reasoning'
  | 'tool-error'
  | 'stream'
  | 'stream-broken-off'
  | 'stream-aborted'
  | 'stream-cut'
  | 'stream-error'
  | 'http-retry'
  | 'many-choices'
  | 'embeddings'
  | 'cached-response'
  | 'responses-api'
  | 'images'
  | 'model-made-before';

/** Options of a model object of the framework. All use the scripted server. */
export interface SceneModelOptions {
  /** Up to and with `/v1`. In a rollout with an endpoint, no call may be sent here. */
  readonly baseUrl: string;
  /** Bearer key, by which the contract distinguishes redirected calls from others. */
  readonly apiKey: string;
  /** Name of the model: `tiny`. */
  readonly model: string;
  /** Maximum retries of the framework's client. 0 in all scenes except `http-retry`. */
  readonly maxRetries: number;
  /** `n` of the requests; 1 in all scenes except `many-choices`. */
  readonly choices: number;
  /** API of the model: {@link AdapterUnderTest.api}, or `responses` in the scene `responses-api`. */
  readonly api: 'chat-completions' | 'responses' | 'messages';
  /** Whether the framework's cache serves repeated requests; only in the scene `cached-response`. */
  readonly isCached: boolean;
}

/** Fields of tool parameters and structured output. All are required. */
export type SceneFields = Readonly<Record<string, 'string' | 'number'>>;

/** A tool of a scene's agent. */
export interface SceneTool {
  readonly name: string;
  readonly description: string;
  readonly parameters: SceneFields;
  /** Implementation of the tool. May throw; the framework reports the error to the model in its documented way. */
  readonly run: (input: Readonly<Record<string, unknown>>) => Promise<string>;
}

/** An agent of a scene. */
export interface SceneAgent<TModel> {
  /** Name of the agent in the framework. */
  readonly name: string;
  readonly instructions: string;
  /** A model from {@link AdapterUnderTest.createModel}. Agents and rollouts can share it. */
  readonly model: TModel;
  readonly tools: readonly SceneTool[];
  /**
   * Agents available as tools, in the framework's way: a tool `ask_{name}` with the string parameter `question`, whose
   * result is the response of the other agent.
   */
  readonly subAgents: readonly SceneAgent<TModel>[];
  /** Fields of the structured output; null for plain text. */
  readonly output: SceneFields | null;
}

/** Input of an agent. */
export interface SceneAsk {
  readonly prompt: string;
  /** An image of the prompt: a `data:` URL. */
  readonly imageUrl: string | null;
  /** The conversation before the prompt. */
  readonly history: readonly { readonly role: 'user' | 'assistant'; readonly content: string }[];
  /** Whether the response is streamed; then `onText` is called with every chunk of text. */
  readonly isStreamed: boolean;
  /** Returns false to stop reading: leave the stream with `break`, as users do. */
  readonly onText: (text: string) => boolean;
  /** The abort signal for the framework. */
  readonly signal: AbortSignal | null;
}

/** Options of the instrumentation. */
export interface SceneInstrumentOptions {
  /** Whether model calls are redirected to the rollout's endpoint; the adapter's option of that name. */
  readonly redirect: boolean;
}

/** An adapter, and the construction of agents in its framework. */
export interface AdapterUnderTest<TModel> {
  /** Name in the test report: `langchain 1.5`. */
  readonly name: string;
  /** API of models in all scenes except `responses-api`. @default 'chat-completions' */
  readonly api?: SceneModelOptions['api'];
  /** Calls the adapter's instrumentation function and returns its undo. */
  readonly instrument: (options: SceneInstrumentOptions) => () => void;
  /** Creates a model object. Called after {@link instrument}, except in the scene `model-made-before`. */
  readonly createModel: (options: SceneModelOptions) => TModel;
  /**
   * Creates and runs the agent, and returns its final response as text: structured output as JSON, and the partial text
   * of an abandoned stream. Rejects when the framework does. Called for every request.
   */
  readonly ask: (agent: SceneAgent<TModel>, ask: SceneAsk) => Promise<string>;
  /** Embeds a text with the framework. Required unless {@link cannot} has `embeddings`. */
  readonly embed?: (text: string, options: SceneModelOptions) => Promise<readonly number[]>;
  /**
   * Everything that the adapter replaces or extends: function properties of classes, lists of processors, globals. Each
   * must be identical before the instrumentation and after its undo. The global `fetch` is always checked.
   *
   * @default nothing
   */
  readonly footprint?: () => readonly unknown[];
  /**
   * Recorder of the model calls of a rollout with an endpoint. `gateway` is for adapters that do not record them: their
   * scenes run without an endpoint, except those that test redirection.
   *
   * @default 'adapter'
   */
  readonly modelCallsBy?: 'adapter' | 'gateway';
  /**
   * Number of concurrent rollouts in the scene of isolation; fewer for a framework that starts a process per agent.
   *
   * @default 32
   */
  readonly concurrentRollouts?: number;
  /** Unsupported abilities, each with the reason for the test report. State exactly what is missing, and where. */
  readonly cannot: Readonly<Partial<Record<AdapterAbility, string>>>;
}

/** JSON Schema of an object with these fields, for tools and structured output. */
export function jsonSchemaOf(fields: SceneFields): {
  readonly type: 'object';
  readonly properties: Record<string, { type: 'string' | 'number' }>;
  readonly required: string[];
  readonly additionalProperties: false;
} {
  return {
    type: 'object',
    properties: Object.fromEntries(Object.entries(fields).map(([name, type]) => [name, { type }])),
    required: Object.keys(fields),
    additionalProperties: false,
  };
}
