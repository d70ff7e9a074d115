import { AiSdk6Call } from './ai-sdk-6-call.ts';
import { gatherStream } from './gathered-stream.ts';
import type { OpenModelCall } from './open-model-call.ts';
import { endOf } from './operation-end.ts';
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
import { beginOperation, type TelemetryOptions } from './telemetry-options.ts';

type Told<TEvent> = (event: TEvent) => void;

/**
 * A telemetry integration for both majors of the AI SDK.
 *
 * Version 7 links its events by `callId`. Version 6 does not; but it reads the callbacks anew for each operation, so that
 * getters can hand out callbacks that belong to one operation.
 */
export class AiSdkTelemetry {
  readonly #options: TelemetryOptions;
  #newest: AiSdk6Call;
  /** Whether the callbacks are being asked for by version 7. */
  #isVersion7 = false;

  constructor(options: TelemetryOptions) {
    this.#options = options;
    this.#newest = new AiSdk6Call(options);
  }

  get onStart(): Told<SdkStart> {
    const call = new AiSdk6Call(this.#options);
    this.#newest = call;
    // Version 6 asks for this one first.
    this.#isVersion7 = false;
    return (event) => {
      if (event.callId === undefined) call.start(event);
      else beginOperation(this.#options, event.callId, event);
    };
  }

  get onStepStart(): Told<SdkStepStart> {
    const call = this.#newest;
    return (event) => {
      if (event.callId === undefined) call.startStep(event);
      else this.#operations.get(event.callId)?.beginStep(event.stepNumber);
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

  /** Version 6 only; version 7 asks for it right after its successor, and would make an event for it. */
  get onStepFinish(): Told<SdkAnswerEvent> | undefined {
    const call = this.#newest;
    return this.#isVersion7 ? undefined : (event) => call.endStep(event);
  }

  /** Version 6 only. */
  get onFinish(): Told<SdkAnswerEvent> {
    const call = this.#newest;
    return () => call.end();
  }

  onLanguageModelCallStart(event: SdkStepStart): void {
    this.#askModel(event);
  }

  onLanguageModelCallEnd(event: SdkAnswerEvent): void {
    this.#operations.get(event.callId)?.answerModelCall(event);
  }

  onToolExecutionStart(event: SdkToolEvent): void {
    this.#operations.get(event.callId)?.beginTool(event);
  }

  onToolExecutionEnd({ callId, toolCall, toolOutput }: SdkToolEvent): void {
    this.#operations.get(callId)?.endTool(toolCall.toolCallId, toolOutput ?? {});
  }

  /** Version 7 only. */
  get onStepEnd(): Told<SdkAnswerEvent> {
    this.#isVersion7 = true;
    return ({ callId }) => this.#operations.get(callId)?.endStep();
  }

  onStepError({ callId, error }: SdkFailure): void {
    this.#operations.get(callId)?.endStep(endOf(error));
  }

  /** `generateObject` and `streamObject`: one step, and nobody tells when the request is made. */
  onObjectStepStart(event: SdkStepStart): void {
    const call = this.#askModel(event);
    if (call !== null) this.#operations.unplaced.add(call);
  }

  onObjectStepEnd(event: SdkAnswerEvent): void {
    this.onLanguageModelCallEnd(event);
  }

  onEmbedStart(event: SdkEmbedEvent): void {
    this.#operations.get(event.callId)?.beginEmbedding(event);
  }

  onEmbedEnd(event: SdkEmbedEvent): void {
    this.#operations.get(event.callId)?.endEmbedding(event);
  }

  /** With the error of an object that does not fit its schema, if there is one. */
  onEnd({ callId, error }: SdkFailure): void {
    this.#operations.get(callId)?.end(endOf(error));
  }

  onAbort({ callId, reason }: SdkFailure): void {
    this.#operations.get(callId)?.end({ error: reason, isAborted: true });
  }

  onError(event: SdkFailure): void {
    this.onEnd(event);
  }

  /** Runs a request of a model in its place in the trace, and gathers what it streams. Retries come here one by one. */
  async executeLanguageModelCall<TResult>({ callId, execute }: SdkExecution<TResult>): Promise<TResult> {
    const call = this.#operations.get(callId)?.modelCall ?? null;
    if (call === null) return execute();
    const result = await call.operation.request(call, execute);
    gatherStream(result, call.operation.streamTap(call));
    return result;
  }

  /** Runs a tool in its place in the trace, so that agents in it are part of it. */
  async executeTool<TResult>({ callId, toolCallId = '', execute }: SdkExecution<TResult>): Promise<TResult> {
    const operation = this.#operations.get(callId);
    return operation === undefined ? execute() : operation.steps.within(operation.toolStepId(toolCallId), execute);
  }

  get #operations(): TelemetryOptions['operations'] {
    return this.#options.operations;
  }

  #askModel(event: SdkStepStart): OpenModelCall | null {
    const operation = this.#operations.get(event.callId);
    if (operation === undefined) return null;
    const request = requestOf(event, event.promptMessages);
    return this.#operations.beginModelCall(operation, {
      request,
      recordInputs: event.recordInputs,
      recordOutputs: event.recordOutputs,
    });
  }
}
