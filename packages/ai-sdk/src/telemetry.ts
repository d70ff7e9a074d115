import { AiSdk6Call } from './ai-sdk-6-call.ts';
import { gatherStream } from './gathered-stream.ts';
import { endOf } from './operation-end.ts';
import type { Operations } from './operations.ts';
import type {
  SdkAnswerEvent,
  SdkEmbedEvent,
  SdkExecution,
  SdkFailure,
  SdkStart,
  SdkStepStart,
  SdkToolEvent,
} from './sdk-events.ts';
import { requestOf } from './sdk-messages.ts';
import { type TelemetryOptions, tellOfGatewayModel } from './telemetry-options.ts';

type Told<TEvent> = (event: TEvent) => void;

/**
 * A telemetry integration for both majors of the AI SDK.
 *
 * Version 7 links its events by `callId`. Version 6 does not; but it reads the callbacks anew for each operation, so that
 * getters can hand out callbacks that belong to one operation.
 */
export class AiSdkTelemetry {
  readonly #options: TelemetryOptions;
  readonly #operations: Operations;
  #newest: AiSdk6Call;

  constructor(options: TelemetryOptions) {
    this.#options = options;
    this.#operations = options.operations;
    this.#newest = new AiSdk6Call(options);
  }

  get onStart(): Told<SdkStart> {
    const call = new AiSdk6Call(this.#options);
    this.#newest = call;
    return (event) => (event.callId === undefined ? call.start(event) : this.#start(event.callId, event));
  }

  get onStepStart(): Told<SdkStepStart> {
    const call = this.#newest;
    return (event) => {
      if (event.callId === undefined) call.startStep(event);
      else this.#operations.beginStep(event.callId, event.stepNumber ?? 0);
    };
  }

  /** Version 6 only. */
  get onToolCallStart(): Told<SdkToolEvent> {
    const call = this.#newest;
    return (event) => call.startTool(event);
  }

  /** Version 6 only. */
  get onToolCallFinish(): Told<SdkToolEvent> {
    const call = this.#newest;
    return (event) => call.endTool(event);
  }

  /** Version 6 only; version 7 still calls it, beside its successor. */
  get onStepFinish(): Told<SdkAnswerEvent> {
    const call = this.#newest;
    return (event) => (event.callId === undefined ? call.endStep(event) : undefined);
  }

  /** Version 6 only. */
  get onFinish(): Told<SdkAnswerEvent> {
    const call = this.#newest;
    return () => call.end();
  }

  onLanguageModelCallStart(event: SdkStepStart): void {
    this.#askModel(event, false);
  }

  onLanguageModelCallEnd(event: SdkAnswerEvent): void {
    if (this.#operations.has(event.callId)) this.#operations.answerModelCall(event.callId, event);
  }

  onToolExecutionStart(event: SdkToolEvent): void {
    if (this.#operations.has(event.callId)) this.#operations.beginTool(event.callId, event);
  }

  onToolExecutionEnd({ callId, toolCall, toolOutput }: SdkToolEvent): void {
    if (this.#operations.has(callId)) this.#operations.endTool(callId, toolCall.toolCallId, toolOutput ?? {});
  }

  onStepEnd({ callId }: SdkAnswerEvent): void {
    if (this.#operations.has(callId)) this.#operations.endStep(callId);
  }

  onStepError({ callId, error }: SdkFailure): void {
    if (this.#operations.has(callId)) this.#operations.endStep(callId, endOf(error));
  }

  /** `generateObject` and `streamObject`: one step, and nobody tells when the request is made. */
  onObjectStepStart(event: SdkStepStart): void {
    this.#askModel(event, true);
  }

  onObjectStepEnd(event: SdkAnswerEvent): void {
    if (this.#operations.has(event.callId)) this.#operations.answerModelCall(event.callId, event);
  }

  onEmbedStart(event: SdkEmbedEvent): void {
    if (this.#operations.has(event.callId)) this.#operations.beginEmbedding(event.callId, event);
  }

  onEmbedEnd(event: SdkEmbedEvent): void {
    if (this.#operations.has(event.callId)) this.#operations.endEmbedding(event.callId, event);
  }

  onEnd({ callId, error }: SdkFailure): void {
    if (this.#operations.has(callId)) this.#operations.end(callId, endOf(error));
  }

  onAbort({ callId, reason }: SdkFailure): void {
    if (this.#operations.has(callId)) this.#operations.end(callId, { error: reason, isAborted: true });
  }

  onError({ callId, error }: SdkFailure): void {
    if (this.#operations.has(callId)) this.#operations.end(callId, endOf(error));
  }

  /** Runs a request of a model in its place in the trace, and gathers what it streams. Retries come here one by one. */
  async executeLanguageModelCall<TResult>({ callId, execute }: SdkExecution<TResult>): Promise<TResult> {
    const call = this.#operations.modelCallOf(callId);
    if (call === null || callId === undefined) return execute();
    try {
      const result = await this.#operations.steps.within(call.id, execute);
      gatherStream(result, this.#operations.streamReader(callId, call));
      return result;
    } catch (error) {
      this.#operations.requestFailed(call, error);
      throw error;
    }
  }

  /** Runs a tool in its place in the trace, so that agents in it are part of it. */
  async executeTool<TResult>({ callId, toolCallId, execute }: SdkExecution<TResult>): Promise<TResult> {
    if (callId === undefined || toolCallId === undefined) return execute();
    return this.#operations.withinTool(callId, toolCallId, execute);
  }

  #start(id: string, event: SdkStart): void {
    const operationId = event.operationId ?? '';
    const name = operationId.replace(/^ai\./, '');
    const isTextOperation = /^ai\.(generate|stream)(Text|Object)$/.test(operationId);
    const isHidden = /^ai\.embed/.test(operationId);
    if (!isTextOperation && !isHidden) return;
    const agentName = isHidden ? null : this.#options.naming.nameOf(event, name);
    this.#operations.begin({ id, name, agentName, isHidden });
    if (!isHidden) tellOfGatewayModel(event, this.#options);
  }

  #askModel(event: SdkStepStart, isUnplaced: boolean): void {
    const { callId } = event;
    if (!this.#operations.has(callId)) return;
    this.#operations.beginModelCall(callId, {
      request: requestOf(event, event.promptMessages),
      areInputsRecorded: event.recordInputs !== false,
      areOutputsRecorded: event.recordOutputs !== false,
      isUnplaced,
    });
  }
}
