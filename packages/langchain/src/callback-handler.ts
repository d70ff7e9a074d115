import { quietly } from '@agentlightning/core/adapter';
import { BaseCallbackHandler } from '@langchain/core/callbacks/base';
import type { MessageLike } from './chat-message.ts';
import type { LangChainRuns } from './langchain-runs.ts';

/** By this name LangChain, and we, know that a run is told of already. */
export const handlerName = 'agentlightning';

type Handler = Required<BaseCallbackHandler>;
type Arguments<TName extends keyof Handler> = Handler[TName] extends (...args: infer TArguments) => unknown
  ? TArguments
  : never;

/** How both kinds of models begin: only what they are given differs. */
type ModelStart = readonly [
  serialized: unknown,
  input: unknown,
  runId: string,
  parentRunId?: string | undefined,
  extra?: Readonly<Record<string, unknown>> | undefined,
  tags?: string[] | undefined,
  metadata?: Readonly<Record<string, unknown>> | undefined,
  runName?: string | undefined,
];

/**
 * Hands what LangChain tells of its runs on to {@link LangChainRuns}.
 *
 * LangChain waits for it: told of in the background, runs would be taken for those of other rollouts.
 */
export class AgentLightningCallbackHandler extends BaseCallbackHandler {
  override readonly name: string = handlerName;
  readonly #runs: LangChainRuns;

  constructor(runs: LangChainRuns) {
    super({ _awaitHandler: true, raiseError: false });
    this.#runs = runs;
  }

  /** One for all: LangChain makes copies for runs of its own. */
  override copy(): this {
    return this;
  }

  override handleChatModelStart(...args: Arguments<'handleChatModelStart'>): void {
    const [, [messages = []]] = args;
    this.#startModel(args, messages);
  }

  override handleLLMStart(...args: Arguments<'handleLLMStart'>): void {
    const [, prompts] = args;
    const messages = prompts.map((content) => ({ type: 'human', content }));
    this.#startModel(args, messages);
  }

  override handleLLMNewToken(...args: Arguments<'handleLLMNewToken'>): void {
    const [text, { completion: index }, runId, , , fields] = args;
    // Without a piece it is no stream, but the whole answer of a cache.
    const chunk = fields?.chunk;
    if (chunk !== undefined) tell(() => this.#runs.takeChunk(runId, text, { index, chunk }));
  }

  override handleLLMEnd(...args: Arguments<'handleLLMEnd'>): void {
    const [result, runId, , , extra] = args;
    tell(() => this.#runs.endModel(runId, result, extra?.cached === true));
  }

  override handleLLMError(error: unknown, runId: string): void {
    tell(() => this.#runs.fail(runId, error));
  }

  override handleChainStart(...args: Arguments<'handleChainStart'>): void {
    // Not in the order that the types say, but in that of the calls.
    const [serialized, input, runId, parentRunId, tags, metadata, runType, runName] = args;
    const run = { serialized, runId, parentRunId, tags, metadata, runType, runName };
    tell(() => this.#runs.startChain(run, input));
  }

  override handleChainEnd(_output: unknown, runId: string): void {
    tell(() => this.#runs.endChain(runId));
  }

  override handleChainError(error: unknown, runId: string, parentRunId?: string): void {
    tell(() => this.#runs.failChain(runId, parentRunId, error));
  }

  override handleToolStart(...args: Arguments<'handleToolStart'>): void {
    const [serialized, input, runId, parentRunId, tags, metadata, runName, toolCallId] = args;
    const run = { serialized, input, runId, parentRunId, tags, metadata, runName, toolCallId };
    tell(() => this.#runs.startTool(run));
  }

  override handleToolEnd(output: unknown, runId: string): void {
    tell(() => this.#runs.endTool(runId, output));
  }

  override handleToolError(error: unknown, runId: string): void {
    tell(() => this.#runs.fail(runId, error));
  }

  override handleRetrieverStart(...args: Arguments<'handleRetrieverStart'>): void {
    const [serialized, input, runId, parentRunId, tags, metadata, runName] = args;
    const run = { serialized, input, runId, parentRunId, tags, metadata, runName };
    tell(() => this.#runs.startRetriever(run));
  }

  override handleRetrieverEnd(documents: unknown, runId: string): void {
    tell(() => this.#runs.endRetriever(runId, documents));
  }

  override handleRetrieverError(error: unknown, runId: string): void {
    tell(() => this.#runs.fail(runId, error));
  }

  #startModel(args: ModelStart, messages: readonly MessageLike[]): void {
    const [serialized, , runId, parentRunId, extra, tags, metadata, runName] = args;
    const run = { serialized, runId, parentRunId, tags, metadata, runName };
    tell(() => this.#runs.startModel({ ...run, messages, parameters: extra?.invocation_params }));
  }

  override handleCustomEvent(name: string, data: unknown, runId: string): void {
    tell(() => this.#runs.note(runId, name, data));
  }
}

/** LangChain would write a warning for everything that is thrown here, each time. The trace goes without; the agent goes on. */
function tell(what: () => void): void {
  quietly('A run of LangChain is not recorded', what);
}
