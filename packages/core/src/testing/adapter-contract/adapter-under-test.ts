/**
 * What the adapter contract needs to know of an adapter and its framework.
 *
 * The contract tells, in plain terms, which agent it wants and what it asks of it; the adapter's test file says how
 * such an agent is written in its framework, the way that framework documents it. It should be parametric over the
 * framework's module, so that the same file runs with another version of it.
 *
 * @module
 */

/**
 * Scenes, and details of scenes, that an adapter may be unable to do:
 *
 * - `steps`: turns or nodes around model calls and tool calls
 * - `tool-calls`: spans of tool calls, with arguments and results
 * - `call-place`: the gateway's records are placed inside the model call's own span, not just inside its agent
 * - `partial-text`: what came of a broken stream is kept in the model call's output messages
 *
 * The rest are whole scenes.
 */
export type AdapterAbility =
  | 'steps'
  | 'tool-calls'
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
  | 'cached-answer'
  | 'responses-api'
  | 'images'
  | 'model-made-before';

/** How a model object of the framework is made. All speak to an OpenAI-compatible server. */
export interface SceneModelOptions {
  /** Up to and with `/v1`. In a rollout with an endpoint, no call may ever arrive here. */
  readonly baseUrl: string;
  /** Send it as the bearer key: the contract looks for it where calls must be untouched, or must not be. */
  readonly apiKey: string;
  /** The model's name: `tiny`. */
  readonly model: string;
  /** How often the framework's client tries again. 0 in all scenes but `http-retry`. */
  readonly maxRetries: number;
  /** `n` of the requests; 1 in all scenes but `many-choices`. */
  readonly choices: number;
  /** Which API the model speaks: that of {@link AdapterUnderTest.api}, and `responses` in the scene `responses-api`. */
  readonly api: 'chat-completions' | 'responses';
  /** Whether the framework's own cache answers what was asked before; only in the scene `cached-answer`. */
  readonly isCached: boolean;
}

/** The fields of an object that tools take, and that structured output has. All are required. */
export type SceneFields = Readonly<Record<string, 'string' | 'number'>>;

/** A tool of a scene's agent. */
export interface SceneTool {
  readonly name: string;
  readonly description: string;
  readonly parameters: SceneFields;
  /** What the tool does. May throw; the framework's documented way to deal with that is to tell the model. */
  readonly run: (input: Readonly<Record<string, unknown>>) => Promise<string>;
}

/** An agent of a scene. */
export interface SceneAgent<TModel> {
  /** What the framework is told as the agent's name. */
  readonly name: string;
  readonly instructions: string;
  /** As {@link AdapterUnderTest.createModel} made it. Several agents and rollouts may share it. */
  readonly model: TModel;
  readonly tools: readonly SceneTool[];
  /**
   * Agents that this one has as tools, in the framework's own way: a tool `ask_{name}` with the one parameter
   * `question`, a text, whose result is the other agent's answer.
   */
  readonly subAgents: readonly SceneAgent<TModel>[];
  /** The fields of structured output; null for plain text. */
  readonly output: SceneFields | null;
}

/** What is asked of an agent. */
export interface SceneAsk {
  readonly prompt: string;
  /** An image that goes with the prompt: a `data:` URL. */
  readonly imageUrl: string | null;
  /** The conversation before the prompt. */
  readonly history: readonly { readonly role: 'user' | 'assistant'; readonly content: string }[];
  /** Whether the answer is streamed; then `onText` is called with every piece of its text. */
  readonly isStreamed: boolean;
  /** Returns false when the agent's user has had enough: leave the stream the way users do, with `break`. */
  readonly onText: (text: string) => boolean;
  /** To be given to the framework as its abort signal. */
  readonly signal: AbortSignal | null;
}

/** What the contract instruments with. */
export interface SceneInstrumentOptions {
  /** Whether model calls go to the rollout's endpoint; the adapter's option of that name. */
  readonly redirect: boolean;
}

/** An adapter, and how agents are written in its framework. */
export interface AdapterUnderTest<TModel> {
  /** In the test report: `langchain 1.5`. */
  readonly name: string;
  /** Which API models speak in all scenes but `responses-api`. @default 'chat-completions' */
  readonly api?: SceneModelOptions['api'];
  /** Puts the adapter in place with its one line, and returns what that line returned. */
  readonly instrument: (options: SceneInstrumentOptions) => () => void;
  /** Makes one model object. Called after {@link instrument}, except in the scene `model-made-before`. */
  readonly createModel: (options: SceneModelOptions) => TModel;
  /**
   * Builds the agent, asks it and returns its final answer as text: structured output as JSON, and of a stream that
   * was left what came so far. Rejects when the framework does. Called anew for every question.
   */
  readonly ask: (agent: SceneAgent<TModel>, ask: SceneAsk) => Promise<string>;
  /** Embeds a text in the framework's own way. Needed unless {@link cannot} has `embeddings`. */
  readonly embed?: (text: string, options: SceneModelOptions) => Promise<readonly number[]>;
  /**
   * What the adapter replaces or adds to anywhere: function properties of classes, lists of processors, globals. Each
   * must be the very same value after the undo as before the one line. The global `fetch` is looked at anyway.
   *
   * @default nothing
   */
  readonly footprint?: () => readonly unknown[];
  /**
   * Who records model calls of a rollout with an endpoint. `gateway` is for adapters that leave those to the gateway
   * alone: their scenes run without an endpoint, except those that look at the redirecting.
   *
   * @default 'adapter'
   */
  readonly modelCallsBy?: 'adapter' | 'gateway';
  /** What it cannot do, each with the reason, which the test report shows. Be exact: name what is missing, and where. */
  readonly cannot: Readonly<Partial<Record<AdapterAbility, string>>>;
}

/** The JSON Schema of an object with these fields, as tools and structured output need it. */
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
