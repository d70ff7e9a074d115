import { quietly } from '@agentlightning/core/internal';
import { BaseCallbackHandler } from '@langchain/core/callbacks/base';
import type { MessageLike } from './chat-message.ts';
import type { LangChainRuns } from './langchain-runs.ts';

/** The name by which LangChain and this adapter recognise a handler that is already registered. */
export const handlerName = 'agentlightning';

type Handler = Required<BaseCallbackHandler>;
type Arguments<TName extends keyof Handler> = Handler[TName] extends (...args: infer TArguments) => unknown
  ? TArguments
  : never;

/** The common start arguments of chat models and text models. */
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
 * Forwards LangChain's callbacks to {@link LangChainRuns}.
 *
 * LangChain awaits this handler: in the background, a run could be attributed to another rollout.
 */
export class AgentLightningCallbackHandler extends BaseCallbackHandler {
  override readonly name: string = handlerName;
  readonly #runs: LangChainRuns;

  constructor(runs: LangChainRuns) {
    super({ _awaitHandler: true, raiseError: false });
    this.#runs = runs;
  }

  /** The singleton handler: LangChain copies handlers for nested runs. */
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
    // Without a chunk this is a complete cached response, not a stream.
    const chunk = fields?.chunk;
    if (chunk !== undefined) safely(() => this.#runs.takeChunk(runId, text, { index, chunk }));
  }

  override handleLLMEnd(...args: Arguments<'handleLLMEnd'>): void {
    const [result, runId, , , extra] = args;
    safely(() => this.#runs.endModel(runId, result, extra?.cached === true));
  }

  override handleLLMError(error: unknown, runId: string): void {
    safely(() => this.#runs.fail(runId, error));
  }

  override handleChainStart(...args: Arguments<'handleChainStart'>): void {
    // The declared parameter order differs from the order of the actual calls.
    const [serialized, input, runId, parentRunId, tags, metadata, runType, runName] = args;
    const run = { serialized, runId, parentRunId, tags, metadata, runType, runName };
    safely(() => this.#runs.startChain(run, input));
  }

  override handleChainEnd(_output: unknown, runId: string): void {
    safely(() => this.#runs.endChain(runId));
  }

  override handleChainError(error: unknown, runId: string, parentRunId?: string): void {
    safely(() => this.#runs.failChain(runId, parentRunId, error));
  }

  override handleToolStart(...args: Arguments<'handleToolStart'>): void {
    const [serialized, input, runId, parentRunId, tags, metadata, runName, toolCallId] = args;
    const run = { serialized, input, runId, parentRunId, tags, metadata, runName, toolCallId };
    safely(() => this.#runs.startTool(run));
  }

  override handleToolEnd(output: unknown, runId: string): void {
    safely(() => this.#runs.endTool(runId, output));
  }

  override handleToolError(error: unknown, runId: string): void {
    safely(() => this.#runs.fail(runId, error));
  }

  override handleRetrieverStart(...args: Arguments<'handleRetrieverStart'>): void {
    const [serialized, input, runId, parentRunId, tags, metadata, runName] = args;
    const run = { serialized, input, runId, parentRunId, tags, metadata, runName };
    safely(() => this.#runs.startRetriever(run));
  }

  override handleRetrieverEnd(documents: unknown, runId: string): void {
    safely(() => this.#runs.endRetriever(runId, documents));
  }

  override handleRetrieverError(error: unknown, runId: string): void {
    safely(() => this.#runs.fail(runId, error));
  }

  #startModel(args: ModelStart, messages: readonly MessageLike[]): void {
    const [serialized, , runId, parentRunId, extra, tags, metadata, runName] = args;
    const run = { serialized, runId, parentRunId, tags, metadata, runName };
    safely(() => this.#runs.startModel({ ...run, messages, parameters: extra?.invocation_params }));
  }

  override handleCustomEvent(name: string, data: unknown, runId: string): void {
    safely(() => this.#runs.addEvent(runId, name, data));
  }
}

/** Errors are logged here: LangChain would print a warning for each one. The span is omitted and the agent continues. */
function safely(run: () => void): void {
  quietly('A run of LangChain is not recorded', run);
}
