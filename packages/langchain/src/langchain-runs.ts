import { AsyncLocalStorage } from 'node:async_hooks';
import { type Attributes, currentRollout } from '@agentlightning/core';
import { type AgentStep, type AgentStepEnd, AgentSteps, type TracePosition } from '@agentlightning/core/adapter';
import { fieldsOf, genAiAttributes, plainText, toolCallAttributes } from '@agentlightning/core/internal';
import { linkAttributes } from '@agentlightning/core/spans';
import { agentHintsOf, type ChainRun, chainStepOf, createdAs, isNode, nameOf, type RunParent } from './chain-step.ts';
import type { MessageLike } from './chat-message.ts';
import { textOf } from './framework-value.ts';
import {
  cachedAttributes,
  modelNameOf,
  partialAttributes,
  type ResultLike,
  requestAttributes,
  responseAttributes,
} from './model-call-attributes.ts';
import { type ChunkLike, PartialResponse } from './partial-response.ts';
import { langchainAttributes, originAttributes, type RunMetadata, type RunOrigin } from './run-attributes.ts';
import { endOf, handOffOf, interruptAttributes, interruptsOf } from './run-error.ts';

/** A model run, as reported at its start. */
export interface ModelRun extends RunOrigin {
  readonly messages: readonly MessageLike[];
  /** The request parameters, in the format of the model's API. */
  readonly parameters: unknown;
}

/** A run of a tool or a retriever. */
export interface ToolRun extends RunOrigin {
  readonly input: string;
  readonly toolCallId?: string | undefined;
}

/** The model call of the current async context. */
export interface ModelCallScope {
  /** Null until LangChain reports the run. */
  runId: string | null;
  /** The last chunk that LangChain reported. */
  lastReported?: unknown;
}

/** Maps LangChain runs to agent steps, by LangChain's run ids. */
export class LangChainRuns {
  readonly #steps: AgentSteps = new AgentSteps({ framework: 'langchain' });
  readonly #modelCall: AsyncLocalStorage<ModelCallScope> = new AsyncLocalStorage();
  readonly #streamed: Map<string, PartialResponse> = new Map();
  /** Keyed by the context of a step, so that entries are garbage-collected with it. */
  readonly #parents: WeakMap<object, RunParent> = new WeakMap();
  readonly #nodesStarted: WeakMap<object, Map<string, number>> = new WeakMap();
  readonly #interrupts: WeakMap<object, readonly unknown[]> = new WeakMap();
  readonly #handOffs: WeakSet<object> = new WeakSet();

  startChain(run: ChainRun, input: unknown): void {
    this.#start(run, {
      ...chainStepOf(run, this.#parentOf(run)),
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
    if (scope !== undefined) scope.lastReported = chunk.message;
    if (!this.#steps.has(runId)) return;
    const streamed = this.#streamed.get(runId) ?? new PartialResponse();
    this.#streamed.set(runId, streamed);
    streamed.take(index, text, chunk);
  }

  endModel(runId: string, result: ResultLike, isCached: boolean): void {
    const attributes = responseAttributes(result, this.#streamed.get(runId));
    this.#streamed.delete(runId);
    this.#steps.end(runId, { attributes: isCached ? cachedAttributes(attributes) : attributes });
  }

  startTool(run: ToolRun): void {
    const { toolCallId, input } = run;
    this.#start(run, {
      kind: 'tool-call',
      attributes: toolCallAttributes({ id: toolCallId, input }),
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

  /** Ends the run of a model, a tool or a retriever with an error. */
  fail(runId: string, error: unknown): void {
    this.#steps.end(runId, this.#endOf(runId, error));
  }

  /** Adds a user-defined event. */
  addEvent(runId: string, name: string, data: unknown): void {
    this.#steps.addEvent(runId, name, { data: plainText(data) });
  }

  /** Runs a function in the context of a run: its spans and calls become children. */
  within<TResult>(runId: string, run: () => TResult): TResult {
    return this.#steps.within(runId, run);
  }

  /** Runs a function in the context of a model call, so that its requests are attributed to the call. */
  withinModelCall<TResult>(scope: ModelCallScope, run: () => TResult): TResult {
    return this.#modelCall.run(scope, run);
  }

  /**
   * Ends a model call whose stream was cancelled; has no effect on a call that has ended.
   *
   * @param last - the chunk at which the reader stopped, which LangChain has not reported yet
   */
  endCancelledStream({ runId, lastReported }: ModelCallScope, last: unknown): void {
    if (runId === null || !this.#steps.has(runId)) return;
    const message: MessageLike = fieldsOf(last);
    const index = Number(message.response_metadata?.['completion'] ?? 0);
    if (last !== lastReported) this.takeChunk(runId, textOf(message.text) ?? '', { index, chunk: { message } });
    this.#steps.end(runId, { isAborted: true });
  }

  /** The trace position of a request in the current context; null outside a model call. */
  positionOfCall(): TracePosition | null {
    const runId = this.#modelCall.getStore()?.runId ?? null;
    return runId === null ? null : this.#steps.positionOf(runId);
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
    this.#parents.set(inside, { tool: step.kind === 'tool-call' ? nameOf(run) : null, createdAs: createdAs(run) });
  }

  /** The user-defined agent name of a run; null if it is inherited from a parent. */
  #newHint(run: RunOrigin): string | null {
    const hints = agentHintsOf(run);
    if (hints.length === 0) return null;
    const around = run.parentRunId === undefined ? null : this.#steps.positionOf(run.parentRunId);
    const path = around === null ? (currentRollout()?.agentPath ?? []) : around.agentPath;
    return hints.find((hint) => !path.includes(hint)) ?? null;
  }

  #parentOf({ parentRunId }: RunOrigin): RunParent {
    const inside = parentRunId === undefined ? null : this.#steps.rolloutOf(parentRunId);
    return (inside === null ? undefined : this.#parents.get(inside)) ?? { tool: null, createdAs: null };
  }

  #endOf(runId: string, error: unknown): ReturnType<typeof endOf> {
    return endOf(error, this.#steps.rolloutOf(runId)?.signal.aborted ?? false);
  }

  #takePartial(runId: string): Attributes {
    const streamed = this.#streamed.get(runId);
    this.#streamed.delete(runId);
    return streamed === undefined ? {} : partialAttributes(streamed);
  }

  /** Records one `hand-off` step, however many nodes and graphs the command passes through. */
  #handOver(runId: string, error: unknown): void {
    const target = handOffOf(error);
    if (target === null || typeof error !== 'object' || error === null || this.#handOffs.has(error)) return;
    this.#handOffs.add(error);
    const id = `${runId}:hand-off`;
    this.#steps.start({ id, parentId: runId, kind: 'hand-off', name: target });
    this.#steps.end(id);
  }

  /** A graph is interrupted by the interrupts of its nodes, but ends normally. */
  #interrupt(runId: string, interrupts: readonly unknown[] | null): void {
    const graph = this.#steps.rolloutOf(runId);
    if (graph === null || interrupts === null) return;
    // Deduplicated: a task and its workflow stop with the same interrupt.
    const all = [...new Set([...(this.#interrupts.get(graph) ?? []), ...interrupts])];
    this.#interrupts.set(graph, all);
    this.#steps.annotate(runId, interruptAttributes(all));
  }

  /** LangGraph retries a failed node under the same checkpoint namespace. */
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

/** The end of a tool run, by its result: a text, a message for the model, or a command for the graph. */
function toolResultEnd(output: unknown): AgentStepEnd {
  const { content, status, tool_call_id: callId } = fieldsOf(output);
  const result = plainText(content ?? output);
  // In LangChain 0.3 the result is the only source of the call id.
  const attributes = toolCallAttributes({ id: textOf(callId), output: result });
  return status === 'error' ? { attributes, error: result } : { attributes };
}
