import { AsyncLocalStorage } from 'node:async_hooks';
import { type Attributes, currentRollout, genAiAttributes, linkAttributes } from '@agentlightning/core';
import { AgentSteps, type CallPlace } from '@agentlightning/core/adapter';
import { agentHintOf, type ChainRun, chainStepOf, isNode } from './chain-step.ts';
import type { MessageLike } from './chat-message.ts';
import { attributeText, fieldsOf, textOf } from './framework-value.ts';
import {
  answerAttributes,
  cachedAttributes,
  modelNameOf,
  partialAttributes,
  type ResultLike,
  requestAttributes,
} from './model-call-attributes.ts';
import { type ChunkLike, PartialAnswer } from './partial-answer.ts';
import { langchainAttributes, originAttributes, type RunOrigin } from './run-attributes.ts';
import { endOf, handOffOf } from './run-error.ts';
import { documentsAttributes, toolResultEnd } from './tool-result.ts';

/** A run of a model, as LangChain tells of its beginning. */
export interface ModelRun extends RunOrigin {
  readonly className: string;
  readonly messages: readonly MessageLike[];
  /** The request's parameters, in the words of the model's API. */
  readonly parameters: Readonly<Record<string, unknown>>;
}

/** A run of a tool or a retriever. */
export interface ToolRun extends RunOrigin {
  readonly className: string;
  readonly input: string;
  readonly toolCallId?: string | undefined;
}

/** Which model call is under way where the code runs. */
export interface ModelCallScope {
  /** Null until LangChain tells of it. */
  runId: string | null;
}

/** The runs of LangChain as steps of agents, by LangChain's own run ids. */
export class LangChainRuns {
  readonly #steps: AgentSteps = new AgentSteps({ framework: 'langchain' });
  readonly #modelCall: AsyncLocalStorage<ModelCallScope> = new AsyncLocalStorage();
  readonly #streamed: Map<string, PartialAnswer> = new Map();
  /** By what is inside of a step, so that nothing is kept longer than the step. */
  readonly #toolNames: WeakMap<object, string> = new WeakMap();
  readonly #nodesStarted: WeakMap<object, Map<string, number>> = new WeakMap();
  readonly #handOffs: WeakSet<object> = new WeakSet();

  startChain(run: ChainRun, input: unknown): void {
    const step = chainStepOf(run, this.#toolAround(run));
    const hint = this.#newHint(run);
    const isAgent = step.kind === 'agent';
    this.#steps.start({
      ...this.#whereabouts(run),
      ...step,
      ...(isAgent && hint !== null ? { name: hint } : { agentName: hint ?? undefined }),
      attributes: { ...originAttributes(run), ...resumeAttributes(run, input), ...this.#retryAttributes(run) },
    });
  }

  endChain(runId: string): void {
    this.#steps.end(runId);
  }

  failChain(runId: string, parentRunId: string | undefined, error: unknown): void {
    this.#handOver(runId, error);
    const end = this.#endOf(runId, error);
    // The graph is interrupted too, and ends as if it were not.
    if (parentRunId !== undefined && end.attributes !== undefined) this.#steps.annotate(parentRunId, end.attributes);
    this.#steps.end(runId, end);
  }

  startModel(run: ModelRun): void {
    const { runId, parameters, metadata = {}, className } = run;
    const scope = this.#modelCall.getStore();
    if (scope !== undefined) scope.runId ??= runId;
    const provider = textOf(metadata.ls_provider);
    this.#steps.start({
      ...this.#whereabouts(run),
      kind: 'model-call',
      name: modelNameOf(parameters, metadata) ?? className,
      agentName: this.#newHint(run) ?? undefined,
      attributes: {
        ...originAttributes(run),
        ...requestAttributes(parameters, run.messages),
        ...(provider === null ? {} : { [genAiAttributes.providerName]: provider }),
      },
      gathered: () => this.#takePartial(runId),
    });
  }

  takeChunk(runId: string, chunk: { readonly text: string; readonly index: number; readonly fields: ChunkLike }): void {
    if (!this.#steps.has(runId)) return;
    const streamed = this.#streamed.get(runId) ?? new PartialAnswer();
    this.#streamed.set(runId, streamed);
    streamed.take(chunk.text, chunk.index, chunk.fields);
  }

  endModel(runId: string, result: ResultLike, isCached: boolean): void {
    const attributes = answerAttributes(result, this.#streamed.get(runId));
    this.#streamed.delete(runId);
    this.#steps.end(runId, { attributes: isCached ? cachedAttributes(attributes) : attributes });
  }

  startTool(run: ToolRun): void {
    const { runId, toolCallId, input, className } = run;
    const name = textOf(run.runName) ?? className;
    this.#steps.start({
      ...this.#whereabouts(run),
      kind: 'tool-call',
      name,
      attributes: {
        ...originAttributes(run),
        [genAiAttributes.toolCallArguments]: input,
        ...(toolCallId === undefined ? {} : { [genAiAttributes.toolCallId]: toolCallId }),
      },
    });
    const inside = this.#steps.rolloutOf(runId);
    if (inside !== null) this.#toolNames.set(inside, name);
  }

  endTool(runId: string, output: unknown): void {
    this.#steps.end(runId, toolResultEnd(output));
  }

  startRetriever(run: ToolRun): void {
    this.#steps.start({
      ...this.#whereabouts(run),
      kind: 'retrieval',
      name: textOf(run.runName) ?? run.className,
      attributes: { ...originAttributes(run), 'gen_ai.retrieval.query.text': run.input },
    });
  }

  endRetriever(runId: string, documents: unknown): void {
    this.#steps.end(runId, { attributes: documentsAttributes(documents) });
  }

  /** Ends the run of a model, a tool or a retriever that threw. */
  fail(runId: string, error: unknown): void {
    this.#steps.end(runId, this.#endOf(runId, error));
  }

  /** Notes an event of the user's own. */
  note(runId: string, name: string, data: unknown): void {
    this.#steps.addEvent(runId, name, { data: attributeText(data) });
  }

  /** Runs what a run consists of: spans and calls made there belong to it. */
  within<TResult>(runId: string, run: () => TResult): TResult {
    return this.#steps.within(runId, run);
  }

  /** Runs a piece of a model call, so that its requests are known to be its own. */
  withinModelCall<TResult>(scope: ModelCallScope, run: () => TResult): TResult {
    return this.#modelCall.run(scope, run);
  }

  /** Ends a model call whose answer nobody wants to its end; does nothing to one that ended. */
  breakOff(scope: ModelCallScope): void {
    if (scope.runId !== null) this.#steps.end(scope.runId, { isAborted: true });
  }

  /** Where a request belongs that is made now; null when it is made in no model call. */
  placeOfCall(): CallPlace | null {
    const runId = this.#modelCall.getStore()?.runId ?? null;
    return runId === null ? null : this.#steps.placeOf(runId);
  }

  #whereabouts({ runId, parentRunId }: RunOrigin): { readonly id: string; readonly parentId: string | null } {
    return { id: runId, parentId: parentRunId ?? null };
  }

  /** What the user calls the agent of a run, where it does not only repeat what is said of a run around. */
  #newHint(run: RunOrigin): string | null {
    const hint = agentHintOf(run);
    if (hint === null) return null;
    const around = run.parentRunId === undefined ? null : this.#steps.placeOf(run.parentRunId);
    const path = around === null ? (currentRollout()?.agentPath ?? []) : around.agentPath;
    return path.includes(hint) ? null : hint;
  }

  #toolAround({ parentRunId }: RunOrigin): string | null {
    const inside = parentRunId === undefined ? null : this.#steps.rolloutOf(parentRunId);
    return inside === null ? null : (this.#toolNames.get(inside) ?? null);
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

function resumeAttributes(run: RunOrigin, input: unknown): Attributes {
  const command = fieldsOf(input);
  const threadId = textOf(run.metadata?.thread_id);
  if (command.lg_name !== 'Command' || command.resume === undefined) return {};
  return {
    [langchainAttributes.isResumed]: true,
    ...(threadId === null ? {} : linkAttributes({ [langchainAttributes.threadId]: threadId })),
  };
}
