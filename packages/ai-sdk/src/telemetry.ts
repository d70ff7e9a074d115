import { currentRollout } from '@agentlightning/core';
import { AISDK6Call } from './ai-sdk-6-call.ts';
import { endOf } from './operation-end.ts';
import type {
  SdkEmbedEvent,
  SdkExecution,
  SdkFailure,
  SdkModelExecution,
  SdkResponseEvent,
  SdkStart,
  SdkStepStart,
  SdkToolEvent,
} from './sdk-events.ts';
import { beginOperation, startOf, type TelemetryOptions } from './telemetry-options.ts';

type Callback<TEvent> = (event: TEvent) => void;

/**
 * A telemetry integration for both majors of the AI SDK.
 *
 * Version 7 links events by `callId`; version 6 does not. Both read the callbacks for each operation, so that getters can
 * return callbacks bound to one operation, and none outside rollouts. Each callback adds overhead in the framework, so
 * version 7 gets only the required ones.
 *
 * A callback that is present costs 3 to 7 µs per call before it runs: version 7 copies the event, searches it for credentials
 * and awaits it at three levels. The diagnostics channel alone would be cheaper, but exists on Node only, lacks
 * `generateObject`, and hides response ids and token counts when the recording of outputs is off. A step starts with the first
 * request after a response, so code between two requests (`onStepEnd`, `prepareStep`) belongs to the earlier step.
 */
export class AISDKTelemetry {
  readonly #options: TelemetryOptions;
  /** The operation whose callbacks version 6 is reading; null outside a rollout and in version 7. */
  #newest: AISDK6Call | null = null;
  /** Whether version 7 is about to read `onStart`. */
  #isVersion7 = false;

  constructor(options: TelemetryOptions) {
    this.#options = options;
  }

  get onStart(): Callback<SdkStart> | undefined {
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
  get onStepStart(): Callback<SdkStepStart> | undefined {
    const call = this.#newest;
    return call === null ? undefined : (event) => call.startStep(event);
  }

  /** Version 6 only. */
  get onToolCallStart(): Callback<SdkToolEvent> | undefined {
    const call = this.#newest;
    return call === null ? undefined : (event) => call.startTool(event);
  }

  /** Version 6 only. */
  get onToolCallFinish(): Callback<SdkToolEvent> | undefined {
    const call = this.#newest;
    return call === null ? undefined : (event) => call.endTool(event);
  }

  /** Version 7 reads this before its predecessor's name, and requires neither. */
  get onStepEnd(): undefined {
    this.#newest = null;
    return undefined;
  }

  /** Version 6 only. */
  get onStepFinish(): Callback<SdkResponseEvent> | undefined {
    const call = this.#newest;
    return call === null ? undefined : (event) => call.endStep(event);
  }

  /** Version 6 only. */
  get onFinish(): Callback<SdkResponseEvent> | undefined {
    const call = this.#newest;
    return call === null ? undefined : () => call.end();
  }

  /**
   * Sends a model request in the context of its call, and records the response. Each retry is a separate call. Version 7
   * only, which reads it before `onStart`.
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

  /** `generateObject` and `streamObject`: one step, without an event for the request. */
  onObjectStepStart(event: SdkStepStart): void {
    const operation = this.#operations.get(event.callId);
    if (operation === undefined) return;
    const { steps, unmatched } = this.#operations;
    unmatched.add(operation.beginModelCall(startOf(event)), steps.rolloutOf(operation.id));
  }

  onObjectStepEnd(event: SdkResponseEvent): void {
    this.#operations.get(event.callId)?.completeModelCall(event);
  }

  onEmbedStart(event: SdkEmbedEvent): void {
    this.#operations.get(event.callId)?.beginEmbedding(event);
  }

  onEmbedEnd(event: SdkEmbedEvent): void {
    this.#operations.get(event.callId)?.endEmbedding(event);
  }

  /** Includes the error of an object that does not match its schema. */
  get onEnd(): Callback<SdkFailure> | undefined {
    return currentRollout() === null ? undefined : this.onError;
  }

  onAbort({ callId, reason }: SdkFailure): void {
    this.#operations.get(callId)?.end({ error: reason, isAborted: true });
  }

  onError({ callId, error }: SdkFailure): void {
    this.#operations.get(callId)?.end(endOf(error));
  }

  /** Runs a tool in the context of its call, so that nested agents are children of it. */
  executeTool<TResult>({ callId, toolCallId = '', execute }: SdkExecution<TResult>): PromiseLike<TResult> {
    const operation = this.#operations.get(callId);
    return operation === undefined ? execute() : operation.steps.within(operation.toolStepId(toolCallId), execute);
  }

  get #operations(): TelemetryOptions['operations'] {
    return this.#options.operations;
  }

  // Version 7 binds callbacks to the integration. Arrow functions would be created for each instance, and slower.
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
