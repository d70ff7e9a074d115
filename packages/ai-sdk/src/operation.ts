import type { JsonObject, RolloutContext } from '@agentlightning/core';
import {
  type AgentStep,
  type AgentStepEnd,
  type AgentSteps,
  modelRequestAttributes,
  modelResponseAttributes,
  type StreamTap,
} from '@agentlightning/core/adapter';
import {
  exceptionAttributes,
  fieldsOf,
  genAiAttributes,
  type PartsResponse,
  partsResponseBody,
  StreamedParts,
  toolCallAttributes,
} from '@agentlightning/core/internal';
import { observeStream } from './observe-stream.ts';
import {
  insideModelCalls,
  isWaiting,
  type ModelCallOwner,
  type OpenModelCall,
  partialAttributes,
  requestAttributes,
  responseAttributes,
} from './open-model-call.ts';
import { endOf } from './operation-end.ts';
import type { SdkEmbedEvent, SdkToolEvent } from './sdk-events.ts';

/** The start of a model call. */
export interface ModelCallStart {
  /** The body of a Chat Completions request. */
  readonly request: JsonObject;
  /** Whether the user records prompts. @default true */
  readonly recordInputs?: boolean | undefined;
  /** Whether the user records responses. @default true */
  readonly recordOutputs?: boolean | undefined;
  /** See {@link OpenModelCall.maxRetries}. @default null */
  readonly maxRetries?: number | null;
}

/**
 * One call of `generateText`, `streamText`, `generateObject`, `embed`, … in progress within a rollout, with its open steps.
 */
export class Operation implements ModelCallOwner {
  readonly id: string;
  readonly steps: AgentSteps;
  /** Whether only the diagnostics channel reports it. */
  isFromChannel = false;
  #stepId: string;
  #modelCall: OpenModelCall | null = null;
  #modelCalls = 0;
  #steps = 0;
  /** Whether the current step has its model response. */
  #hasResponse = false;
  /** The ids of the open steps, in the order of their start. */
  readonly #open: Set<string> = new Set();

  /** @param id - the id of its step; an operation without a step adds its children to the enclosing step */
  constructor(steps: AgentSteps, id: string) {
    this.steps = steps;
    this.id = id;
    this.#stepId = id;
  }

  /** The model call in progress; null without one. */
  get modelCall(): OpenModelCall | null {
    return this.#modelCall;
  }

  /**
   * The model call of a request whose step is not reported: a retry of the current call, or a new call. Every response ends
   * a step.
   */
  callToSend(start: () => ModelCallStart): OpenModelCall {
    const open = this.#modelCall;
    if (open !== null && isWaiting(open)) return open;
    if (this.#stepId === this.id || this.#hasResponse) this.beginStep();
    return this.beginModelCall(start());
  }

  /** Starts the next step. */
  beginStep(): void {
    this.endStep();
    this.#hasResponse = false;
    this.#stepId = `${this.id}/step/${this.#steps++}`;
    this.#start({ id: this.#stepId, parentId: this.id, kind: 'step', name: `step ${this.#steps}` });
  }

  endStep(): void {
    this.#endModelCall();
    if (this.#stepId !== this.id) this.#end(this.#stepId, {});
    this.#stepId = this.id;
  }

  /** Ends the operation and its open steps. */
  end(end: AgentStepEnd = {}): void {
    this.#endModelCall(end);
    for (const id of [...this.#open].reverse()) this.#end(id, end);
    this.steps.end(this.id, end);
  }

  beginModelCall({
    request,
    recordInputs = true,
    recordOutputs = true,
    maxRetries = null,
  }: ModelCallStart): OpenModelCall {
    this.#endModelCall();
    const attributes = modelRequestAttributes(request);
    const call: OpenModelCall = {
      id: `${this.id}/model-call/${this.#modelCalls++}`,
      operation: this,
      maxRetries,
      response: new StreamedParts(),
      inputMessages: attributes[genAiAttributes.inputMessages],
      areInputsRecorded: recordInputs,
      areOutputsRecorded: recordOutputs,
      requests: 0,
      failures: 0,
    };
    this.#modelCall = call;
    const inside = this.#start({
      id: call.id,
      parentId: this.#stepId,
      kind: 'model-call',
      name: String(request.model ?? 'unknown'),
      attributes: requestAttributes(call, attributes),
      // A reported end has removed the call; otherwise its stream was interrupted.
      gathered: () => ({
        ...(this.#modelCall === call && partialAttributes(call)),
        ...(call.requests > 1 && { 'http.request.resend_count': call.requests - 1 }),
      }),
    });
    if (inside !== null) insideModelCalls.add(inside);
    return call;
  }

  /** Ends the model call with the reported response. */
  completeModelCall(response: PartsResponse): void {
    const call = this.#modelCall;
    if (call === null) return;
    this.#hasResponse = true;
    this.#modelCall = null;
    this.#end(call.id, { attributes: responseAttributes(call, response), ...endOf(call.response.error) });
  }

  /** Records a failed request; the framework may retry it. */
  requestFailed(call: OpenModelCall, error: unknown): void {
    call.failures += 1;
    this.steps.addEvent(call.id, 'request_failed', exceptionAttributes(error, false));
    // The same condition by which the AI SDK decides on a retry.
    const isOver =
      call.maxRetries !== null && (call.failures > call.maxRetries || fieldsOf(error).isRetryable !== true);
    if (isOver) this.end(endOf(error));
  }

  /** Sends a request in the context of its model call. */
  async request<TResult>(call: OpenModelCall, send: () => PromiseLike<TResult>): Promise<TResult> {
    call.requests += 1;
    try {
      return await this.steps.within(call.id, send);
    } catch (error) {
      this.requestFailed(call, error);
      throw error;
    }
  }

  /** Records the result of a request: the response or its stream. */
  takeResult(call: OpenModelCall, result: unknown): void {
    if (!observeStream(result, () => this.streamTap(call))) this.completeModelCall(fieldsOf(result) as PartsResponse);
  }

  /** Returns an observer that ends the model call with its stream. */
  streamTap(call: OpenModelCall): StreamTap<unknown> {
    const { response } = call;
    const isOpen = (): boolean => this.#modelCall === call;
    const failed = (error: unknown): void => {
      if (isOpen()) this.#endModelCall(endOf(error));
    };
    return {
      failed,
      take: (part) => {
        response.take(part);
        // Parts after an error are ignored, and most agents do not read them.
        if (response.error !== undefined) failed(response.error);
      },
      // The framework does not report the end of a cancelled stream.
      cancelled: () => {
        if (isOpen()) this.end({ isAborted: true });
      },
      ended: () => {
        if (isOpen() && response.isWhole) this.completeModelCall(response.toResponse());
      },
    };
  }

  beginTool({ toolCall: { toolCallId, toolName, input }, recordInputs }: SdkToolEvent): string {
    const id = this.toolStepId(toolCallId);
    const attributes = toolCallAttributes({ id: toolCallId, input: recordInputs === false ? undefined : input });
    this.#start({ id, parentId: this.#stepId, kind: 'tool-call', name: toolName, attributes });
    return id;
  }

  endTool(toolCallId: string, { output, error }: { readonly output?: unknown; readonly error?: unknown }): void {
    this.#end(this.toolStepId(toolCallId), { ...endOf(error), attributes: toolCallAttributes({ output }) });
  }

  /** The step id of a tool call: the model's ids are not unique. */
  toolStepId(toolCallId: string): string {
    return `${this.id}/tool-call/${toolCallId}`;
  }

  beginEmbedding({ embedCallId, modelId = 'unknown' }: SdkEmbedEvent): void {
    this.#start({ id: embedCallId, parentId: this.id, kind: 'embedding', name: modelId });
  }

  endEmbedding({ embedCallId, usage }: SdkEmbedEvent): void {
    this.#end(embedCallId, { attributes: modelResponseAttributes(partsResponseBody({ usage })) });
  }

  #start(step: AgentStep): RolloutContext | null {
    this.#open.add(step.id);
    return this.steps.start(step);
  }

  #end(id: string, end: AgentStepEnd): void {
    this.#open.delete(id);
    this.steps.end(id, end);
  }

  /** Ends a model call whose end was not reported, with the received part. */
  #endModelCall(end: AgentStepEnd = {}): void {
    const call = this.#modelCall;
    if (call === null) return;
    this.#end(call.id, { ...endOf(call.response.error), ...end });
    this.#modelCall = null;
  }
}
