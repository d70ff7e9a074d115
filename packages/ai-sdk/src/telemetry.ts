import { currentRollout } from '@agentlightning/core';
import { AISDK6Call } from './ai-sdk-6-call.ts';
import { endOf } from './operation-end.ts';
import type {
  SdkAnswerEvent,
  SdkEmbedEvent,
  SdkExecution,
  SdkFailure,
  SdkModelExecution,
  SdkStart,
  SdkStepStart,
  SdkToolEvent,
} from './sdk-events.ts';
import { beginOperation, startOf, type TelemetryOptions } from './telemetry-options.ts';

type Told<TEvent> = (event: TEvent) => void;

/**
 * A telemetry integration for both majors of the AI SDK.
 *
 * Version 7 links its events by `callId`. Version 6 does not; but both read the callbacks anew for each operation, so that
 * getters can hand out callbacks that belong to one operation, and none outside of rollouts. Every callback that is there
 * costs the agent more in the framework than here: version 7 is given those alone that nothing else stands for.
 */
export class AISDKTelemetry {
  readonly #options: TelemetryOptions;
  /** The operation that version 6 asks for callbacks for; null outside of rollouts, and in version 7. */
  #newest: AISDK6Call | null = null;
  /** Whether version 7 is about to ask for `onStart`. */
  #isVersion7 = false;

  constructor(options: TelemetryOptions) {
    this.#options = options;
  }

  get onStart(): Told<SdkStart> | undefined {
    const isVersion7 = this.#isVersion7;
    this.#isVersion7 = false;
    this.#newest = null;
    if (currentRollout() === null) return undefined;
    if (isVersion7) return this.#begin;
    const call = new AISDK6Call(this.#options);
    this.#newest = call;
    return (event) => call.start(event);
  }

  /** Version 6 only. */
  get onStepStart(): Told<SdkStepStart> | undefined {
    const call = this.#newest;
    return call === null ? undefined : (event) => call.startStep(event);
  }

  /** Version 6 only. */
  get onToolCallStart(): Told<SdkToolEvent> | undefined {
    const call = this.#newest;
    return call === null ? undefined : (event) => call.startTool(event);
  }

  /** Version 6 only. */
  get onToolCallFinish(): Told<SdkToolEvent> | undefined {
    const call = this.#newest;
    return call === null ? undefined : (event) => call.endTool(event);
  }

  /** Version 7, which asks for it right before its predecessor's name, needs neither. */
  get onStepEnd(): undefined {
    this.#newest = null;
    return undefined;
  }

  /** Version 6 only. */
  get onStepFinish(): Told<SdkAnswerEvent> | undefined {
    const call = this.#newest;
    return call === null ? undefined : (event) => call.endStep(event);
  }

  /** Version 6 only. */
  get onFinish(): Told<SdkAnswerEvent> | undefined {
    const call = this.#newest;
    return call === null ? undefined : () => call.end();
  }

  /**
   * Runs a request of a model in its place in the trace, and gathers what it is answered. Retries come here one by one.
   * Version 7 only, which asks for it before `onStart`.
   */
  get executeLanguageModelCall():
    | (<TResult>(execution: SdkModelExecution<TResult>) => PromiseLike<TResult>)
    | undefined {
    this.#isVersion7 = true;
    return currentRollout() === null ? undefined : this.#callModel;
  }

  onToolExecutionStart(event: SdkToolEvent): void {
    this.#operations.get(event.callId)?.beginTool(event);
  }

  onToolExecutionEnd({ callId, toolCall, toolOutput }: SdkToolEvent): void {
    this.#operations.get(callId)?.endTool(toolCall.toolCallId, toolOutput ?? {});
  }

  /** `generateObject` and `streamObject`: one step, and nobody tells when the request is made. */
  onObjectStepStart(event: SdkStepStart): void {
    const operation = this.#operations.get(event.callId);
    if (operation === undefined) return;
    const { steps, unplaced } = this.#operations;
    unplaced.add(operation.beginModelCall(startOf(event)), steps.rolloutOf(operation.id));
  }

  onObjectStepEnd(event: SdkAnswerEvent): void {
    this.#operations.get(event.callId)?.answerModelCall(event);
  }

  onEmbedStart(event: SdkEmbedEvent): void {
    this.#operations.get(event.callId)?.beginEmbedding(event);
  }

  onEmbedEnd(event: SdkEmbedEvent): void {
    this.#operations.get(event.callId)?.endEmbedding(event);
  }

  /** With the error of an object that does not fit its schema, if there is one. */
  get onEnd(): Told<SdkFailure> | undefined {
    return currentRollout() === null ? undefined : this.onError;
  }

  onAbort({ callId, reason }: SdkFailure): void {
    this.#operations.get(callId)?.end({ error: reason, isAborted: true });
  }

  onError({ callId, error }: SdkFailure): void {
    this.#operations.get(callId)?.end(endOf(error));
  }

  /** Runs a tool in its place in the trace, so that agents in it are part of it. */
  executeTool<TResult>({ callId, toolCallId = '', execute }: SdkExecution<TResult>): PromiseLike<TResult> {
    const operation = this.#operations.get(callId);
    return operation === undefined ? execute() : operation.steps.within(operation.toolStepId(toolCallId), execute);
  }

  get #operations(): TelemetryOptions['operations'] {
    return this.#options.operations;
  }

  // Version 7 binds whatever it is handed to what it got it from. Arrow functions would be new, and slow, with each of us.
  #begin(event: SdkStart): void {
    beginOperation(this.#options, event.callId ?? '', event);
  }

  async #callModel<TResult>(event: SdkModelExecution<TResult>): Promise<TResult> {
    const operation = this.#operations.get(event.callId);
    if (operation === undefined) return event.execute();
    const call = operation.callToSend(() => startOf(event));
    const result = await operation.request(call, event.execute);
    operation.takeResult(call, result);
    return result;
  }
}
