import type { Attributes, JsonObject, RolloutContext } from '@agentlightning/core';
import {
  type AgentStep,
  type AgentStepEnd,
  type AgentSteps,
  fieldsOf,
  modelAnswerAttributes,
  modelRequestAttributes,
  plainText,
  type StreamTap,
} from '@agentlightning/core/adapter';
import { exceptionAttributes, genAiAttributes } from '@agentlightning/core/spans';
import { GatheredAnswer } from './gathered-answer.ts';
import { gatherStream } from './gathered-stream.ts';
import {
  answerAttributes,
  brokenOffAttributes,
  insideModelCalls,
  isWaiting,
  type ModelCallOwner,
  type OpenModelCall,
  requestAttributes,
} from './open-model-call.ts';
import { endOf } from './operation-end.ts';
import type { SdkAnswer, SdkEmbedEvent, SdkToolEvent } from './sdk-events.ts';
import { answerOf } from './sdk-messages.ts';

/** How a model call begins. */
export interface ModelCallStart {
  /** As the body of a Chat Completions request. */
  readonly request: JsonObject;
  /** Whether the user wants prompts recorded. @default true */
  readonly recordInputs?: boolean | undefined;
  /** Whether the user wants answers recorded. @default true */
  readonly recordOutputs?: boolean | undefined;
  /** See {@link OpenModelCall.maxRetries}. @default null */
  readonly maxRetries?: number | null;
}

/**
 * One call of `generateText`, `streamText`, `generateObject`, `embed`, … that is under way in a rollout, and what it is
 * doing.
 */
export class Operation implements ModelCallOwner {
  readonly id: string;
  readonly steps: AgentSteps;
  /** Whether only the diagnostics channel tells of it. */
  isFollowed = false;
  #stepId: string;
  #modelCall: OpenModelCall | null = null;
  #modelCalls = 0;
  #steps = 0;
  /** Whether the model has answered in the step that is under way. */
  #isAnswered = false;
  /** What is under way in it, in the order of their beginnings. */
  readonly #open: Set<string> = new Set();

  /** @param id - that of its own step; where it has none, what it does belongs to whatever is around it */
  constructor(steps: AgentSteps, id: string) {
    this.steps = steps;
    this.id = id;
    this.#stepId = id;
  }

  /** The model call that it is making; null when it makes none. */
  get modelCall(): OpenModelCall | null {
    return this.#modelCall;
  }

  /**
   * The model call that a request is made for where nobody tells of steps: the one that it is sent again for, or the
   * next. Every answer ends a step.
   */
  callToSend(start: () => ModelCallStart): OpenModelCall {
    const open = this.#modelCall;
    if (open !== null && isWaiting(open)) return open;
    if (this.#stepId === this.id || this.#isAnswered) this.beginStep();
    return this.beginModelCall(start());
  }

  /** Goes on to the next step. */
  beginStep(): void {
    this.endStep();
    this.#isAnswered = false;
    this.#stepId = `${this.id}/step/${this.#steps++}`;
    this.#start({ id: this.#stepId, parentId: this.id, kind: 'step', name: `step ${this.#steps}` });
  }

  endStep(): void {
    this.#endModelCall();
    if (this.#stepId !== this.id) this.#end(this.#stepId, {});
    this.#stepId = this.id;
  }

  /** Ends the operation, and what is still open in it. */
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
      answer: new GatheredAnswer(),
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
      // Whoever knows how the call ended has cleared this away; otherwise it broke off.
      gathered: () => ({
        ...(this.#modelCall === call && brokenOffAttributes(call)),
        ...(call.requests > 1 && { 'http.request.resend_count': call.requests - 1 }),
      }),
    });
    if (inside !== null) insideModelCalls.add(inside);
    return call;
  }

  /** Ends the model call with the answer that is told of. */
  answerModelCall(answer: SdkAnswer): void {
    const call = this.#modelCall;
    if (call === null) return;
    this.#isAnswered = true;
    this.#modelCall = null;
    this.#end(call.id, { attributes: answerAttributes(call, answer), ...endOf(call.answer.error) });
  }

  /** Notes that the request of a model call failed; the framework may send it again. */
  requestFailed(call: OpenModelCall, error: unknown): void {
    call.failures += 1;
    this.steps.addEvent(call.id, 'request_failed', exceptionAttributes(error, false));
    // As the AI SDK itself decides whether to send a request again.
    const isOver =
      call.maxRetries !== null && (call.failures > call.maxRetries || fieldsOf(error).isRetryable !== true);
    if (isOver) this.end(endOf(error));
  }

  /** Sends a request of a model call, in the call's place in the trace. */
  async request<TResult>(call: OpenModelCall, send: () => PromiseLike<TResult>): Promise<TResult> {
    call.requests += 1;
    try {
      return await this.steps.within(call.id, send);
    } catch (error) {
      this.requestFailed(call, error);
      throw error;
    }
  }

  /** Takes what a provider gave for a request: the answer, or a stream that it will come in. */
  takeResult(call: OpenModelCall, result: unknown): void {
    if (!gatherStream(result, () => this.streamTap(call))) this.answerModelCall(fieldsOf(result) as SdkAnswer);
  }

  /** What follows from how the stream of a model call is read. */
  streamTap(call: OpenModelCall): StreamTap<unknown> {
    const { answer } = call;
    const isOpen = (): boolean => this.#modelCall === call;
    const failed = (error: unknown): void => {
      if (isOpen()) this.#endModelCall(endOf(error));
    };
    return {
      failed,
      take: (part) => {
        answer.take(part);
        // What may come after an error is no answer any more, and most agents do not wait for it.
        if (answer.error !== undefined) failed(answer.error);
      },
      // Nobody asks this operation for more: the framework does not tell of it.
      cancelled: () => {
        if (isOpen()) this.end({ isAborted: true });
      },
      ended: () => {
        if (isOpen() && answer.isWhole) this.answerModelCall(answer.toAnswer());
      },
    };
  }

  beginTool({ toolCall: { toolCallId, toolName, input }, recordInputs }: SdkToolEvent): string {
    const id = this.toolStepId(toolCallId);
    const isRecorded = recordInputs !== false && input !== undefined;
    const attributes = {
      [genAiAttributes.toolCallId]: toolCallId,
      ...(isRecorded ? { [genAiAttributes.toolCallArguments]: plainText(input) } : {}),
    };
    this.#start({ id, parentId: this.#stepId, kind: 'tool-call', name: toolName, attributes });
    return id;
  }

  endTool(toolCallId: string, { output, error }: { readonly output?: unknown; readonly error?: unknown }): void {
    const attributes: Attributes = output === undefined ? {} : { [genAiAttributes.toolCallResult]: plainText(output) };
    this.#end(this.toolStepId(toolCallId), { ...endOf(error), attributes });
  }

  /** The id that a tool call is recorded by: the model's own ids are not unique. */
  toolStepId(toolCallId: string): string {
    return `${this.id}/tool-call/${toolCallId}`;
  }

  beginEmbedding({ embedCallId, modelId = 'unknown' }: SdkEmbedEvent): void {
    this.#start({ id: embedCallId, parentId: this.id, kind: 'embedding', name: modelId });
  }

  endEmbedding({ embedCallId, usage }: SdkEmbedEvent): void {
    this.#end(embedCallId, { attributes: modelAnswerAttributes(answerOf({ usage })) });
  }

  #start(step: AgentStep): RolloutContext | null {
    this.#open.add(step.id);
    return this.steps.start(step);
  }

  #end(id: string, end: AgentStepEnd): void {
    this.#open.delete(id);
    this.steps.end(id, end);
  }

  /** Ends a model call that nobody told the end of, with what has come of it. */
  #endModelCall(end: AgentStepEnd = {}): void {
    const call = this.#modelCall;
    if (call === null) return;
    this.#end(call.id, { ...endOf(call.answer.error), ...end });
    this.#modelCall = null;
  }
}
