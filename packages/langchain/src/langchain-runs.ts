import { AsyncLocalStorage } from 'node:async_hooks';
import { type Attributes, currentRollout } from '@agentlightning/core';
import { type AgentStep, AgentSteps, type CallPlace, fieldsOf, plainText } from '@agentlightning/core/adapter';
import { genAiAttributes, linkAttributes } from '@agentlightning/core/spans';
import {
  agentHintsOf,
  type ChainRun,
  chainStepOf,
  isNode,
  madeAs,
  nameOf,
  type RunSurroundings,
} from './chain-step.ts';
import type { MessageLike } from './chat-message.ts';
import { textOf } from './framework-value.ts';
import {
  answerAttributes,
  cachedAttributes,
  modelNameOf,
  partialAttributes,
  type ResultLike,
  requestAttributes,
} from './model-call-attributes.ts';
import { type ChunkLike, PartialAnswer } from './partial-answer.ts';
import { langchainAttributes, originAttributes, type RunMetadata, type RunOrigin } from './run-attributes.ts';
import { endOf, handOffOf, interruptAttributes, interruptsOf } from './run-error.ts';
import { toolResultEnd } from './tool-result.ts';

/** A run of a model, as LangChain tells of its beginning. */
export interface ModelRun extends RunOrigin {
  readonly messages: readonly MessageLike[];
  /** The request's parameters, in the words of the model's API. */
  readonly parameters: unknown;
}

/** A run of a tool or a retriever. */
export interface ToolRun extends RunOrigin {
  readonly input: string;
  readonly toolCallId?: string | undefined;
}

/** Which model call is under way where the code runs. */
export interface ModelCallScope {
  /** Null until LangChain tells of it. */
  runId: string | null;
  /** The piece of the answer that LangChain told of last. */
  lastTold?: unknown;
}

/** The runs of LangChain as steps of agents, by LangChain's own run ids. */
export class LangChainRuns {
  readonly #steps: AgentSteps = new AgentSteps({ framework: 'langchain' });
  readonly #modelCall: AsyncLocalStorage<ModelCallScope> = new AsyncLocalStorage();
  readonly #streamed: Map<string, PartialAnswer> = new Map();
  /** By what is inside of a step, so that nothing is kept longer than the step. */
  readonly #surroundings: WeakMap<object, RunSurroundings> = new WeakMap();
  readonly #nodesStarted: WeakMap<object, Map<string, number>> = new WeakMap();
  readonly #interrupts: WeakMap<object, readonly unknown[]> = new WeakMap();
  readonly #handOffs: WeakSet<object> = new WeakSet();

  startChain(run: ChainRun, input: unknown): void {
    this.#start(run, {
      ...chainStepOf(run, this.#around(run)),
      attributes: { ...resumeAttributes(run, input), ...this.#retryAttributes(run) },
    });
  }

  endChain(runId: string): void {
    this.#steps.end(runId);
  }

  failChain(runId: string, parentRunId: string | undefined, error: unknown): void {
    this.#handOver(runId, error);
    if (parentRunId !== undefined) this.#interrupt(parentRunId, interruptsOf(error));
    this.#steps.end(runId, this.#endOf(runId, error));
  }

  startModel(run: ModelRun): void {
    const { runId, parameters, metadata = {} } = run;
    const scope = this.#modelCall.getStore();
    if (scope !== undefined) scope.runId ??= runId;
    const name = modelNameOf(parameters, metadata);
    this.#start(run, {
      kind: 'model-call',
      ...(name === null ? {} : { name }),
      attributes: { ...requestAttributes(parameters, run.messages), ...providerAttributes(metadata) },
      gathered: () => this.#takePartial(runId),
    });
  }

  takeChunk(
    runId: string,
    text: string,
    { index, chunk }: { readonly index: number; readonly chunk: ChunkLike },
  ): void {
    const scope = this.#modelCall.getStore();
    if (scope !== undefined) scope.lastTold = chunk.message;
    if (!this.#steps.has(runId)) return;
    const streamed = this.#streamed.get(runId) ?? new PartialAnswer();
    this.#streamed.set(runId, streamed);
    streamed.take(index, text, chunk);
  }

  endModel(runId: string, result: ResultLike, isCached: boolean): void {
    const attributes = answerAttributes(result, this.#streamed.get(runId));
    this.#streamed.delete(runId);
    this.#steps.end(runId, { attributes: isCached ? cachedAttributes(attributes) : attributes });
  }

  startTool(run: ToolRun): void {
    const { toolCallId, input } = run;
    this.#start(run, {
      kind: 'tool-call',
      attributes: {
        [genAiAttributes.toolCallArguments]: input,
        ...(toolCallId === undefined ? {} : { [genAiAttributes.toolCallId]: toolCallId }),
      },
    });
  }

  endTool(runId: string, output: unknown): void {
    this.#steps.end(runId, toolResultEnd(output));
  }

  startRetriever(run: ToolRun): void {
    this.#start(run, { kind: 'retrieval', attributes: { 'gen_ai.retrieval.query.text': run.input } });
  }

  endRetriever(runId: string, documents: unknown): void {
    this.#steps.end(runId, { attributes: { 'gen_ai.retrieval.documents': plainText(documents) } });
  }

  /** Ends the run of a model, a tool or a retriever that threw. */
  fail(runId: string, error: unknown): void {
    this.#steps.end(runId, this.#endOf(runId, error));
  }

  /** Notes an event of the user's own. */
  note(runId: string, name: string, data: unknown): void {
    this.#steps.addEvent(runId, name, { data: plainText(data) });
  }

  /** Runs what a run consists of: spans and calls made there belong to it. */
  within<TResult>(runId: string, run: () => TResult): TResult {
    return this.#steps.within(runId, run);
  }

  /** Runs a piece of a model call, so that its requests are known to be its own. */
  withinModelCall<TResult>(scope: ModelCallScope, run: () => TResult): TResult {
    return this.#modelCall.run(scope, run);
  }

  /**
   * Ends a model call whose answer nobody wants to its end; does nothing to one that ended.
   *
   * @param last - the piece that its reader left with, which LangChain would have told of only after it
   */
  breakOff({ runId, lastTold }: ModelCallScope, last: unknown): void {
    if (runId === null || !this.#steps.has(runId)) return;
    const message: MessageLike = fieldsOf(last);
    const index = Number(message.response_metadata?.['completion'] ?? 0);
    if (last !== lastTold) this.takeChunk(runId, textOf(message.text) ?? '', { index, chunk: { message } });
    this.#steps.end(runId, { isAborted: true });
  }

  /** Where a request belongs that is made now; null when it is made in no model call. */
  placeOfCall(): CallPlace | null {
    const runId = this.#modelCall.getStore()?.runId ?? null;
    return runId === null ? null : this.#steps.placeOf(runId);
  }

  #start(run: RunOrigin, step: Omit<AgentStep, 'id' | 'parentId' | 'name'> & { readonly name?: string }): void {
    const hint = this.#newHint(run);
    const inside = this.#steps.start({
      id: run.runId,
      parentId: run.parentRunId ?? null,
      name: nameOf(run),
      ...step,
      ...(hint === null ? {} : step.kind === 'agent' ? { name: hint } : { agentName: hint }),
      attributes: { ...originAttributes(run), ...step.attributes },
    });
    if (inside === null) return;
    this.#surroundings.set(inside, { tool: step.kind === 'tool-call' ? nameOf(run) : null, madeAs: madeAs(run) });
  }

  /** What the user calls the agent of a run, where it does not only repeat what is said of a run around. */
  #newHint(run: RunOrigin): string | null {
    const hints = agentHintsOf(run);
    if (hints.length === 0) return null;
    const around = run.parentRunId === undefined ? null : this.#steps.placeOf(run.parentRunId);
    const path = around === null ? (currentRollout()?.agentPath ?? []) : around.agentPath;
    return hints.find((hint) => !path.includes(hint)) ?? null;
  }

  #around({ parentRunId }: RunOrigin): RunSurroundings {
    const inside = parentRunId === undefined ? null : this.#steps.rolloutOf(parentRunId);
    return (inside === null ? undefined : this.#surroundings.get(inside)) ?? { tool: null, madeAs: null };
  }

  #endOf(runId: string, error: unknown): ReturnType<typeof endOf> {
    return endOf(error, this.#steps.rolloutOf(runId)?.signal.aborted ?? false);
  }

  #takePartial(runId: string): Attributes {
    const streamed = this.#streamed.get(runId);
    this.#streamed.delete(runId);
    return streamed === undefined ? {} : partialAttributes(streamed);
  }

  /** One step of the kind `hand-off`, however many nodes and graphs it passes on its way. */
  #handOver(runId: string, error: unknown): void {
    const goal = handOffOf(error);
    if (goal === null || typeof error !== 'object' || error === null || this.#handOffs.has(error)) return;
    this.#handOffs.add(error);
    const id = `${runId}:hand-off`;
    this.#steps.start({ id, parentId: runId, kind: 'hand-off', name: goal });
    this.#steps.end(id);
  }

  /** A graph is interrupted with its nodes, by all that ask something, and ends as if it were not. */
  #interrupt(runId: string, interrupts: readonly unknown[] | null): void {
    const graph = this.#steps.rolloutOf(runId);
    if (graph === null || interrupts === null) return;
    // Once each: a task and the workflow that waits for it, both of one graph, stop with the same.
    const all = [...new Set([...(this.#interrupts.get(graph) ?? []), ...interrupts])];
    this.#interrupts.set(graph, all);
    this.#steps.annotate(runId, interruptAttributes(all));
  }

  /** LangGraph runs a node that failed again in the same place. */
  #retryAttributes(run: RunOrigin): Attributes {
    const graph = run.parentRunId === undefined ? null : this.#steps.rolloutOf(run.parentRunId);
    const place = textOf(run.metadata?.langgraph_checkpoint_ns);
    if (graph === null || place === null || !isNode(run)) return {};
    const started = this.#nodesStarted.get(graph) ?? new Map<string, number>();
    const retry = started.get(place) ?? 0;
    this.#nodesStarted.set(graph, started.set(place, retry + 1));
    return retry === 0 ? {} : { [langchainAttributes.retry]: retry };
  }
}

function providerAttributes({ ls_provider: provider }: RunMetadata): Attributes {
  return typeof provider === 'string' ? { [genAiAttributes.providerName]: provider } : {};
}

function resumeAttributes(run: RunOrigin, input: unknown): Attributes {
  const command = fieldsOf(input);
  const threadId = textOf(run.metadata?.thread_id);
  if (command.lg_name !== 'Command' || command.resume === undefined) return {};
  return {
    [langchainAttributes.isResumed]: true,
    ...(threadId === null ? {} : linkAttributes({ [langchainAttributes.threadId]: threadId })),
  };
}
