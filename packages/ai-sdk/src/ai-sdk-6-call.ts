import { newSpanId } from '@agentlightning/core';
import type { Operations } from './operations.ts';
import { PlacedTools } from './placed-tools.ts';
import type { SdkAnswerEvent, SdkStart, SdkStepStart, SdkToolEvent } from './sdk-events.ts';
import { requestOf } from './sdk-messages.ts';
import { type TelemetryOptions, tellOfGatewayModel } from './telemetry-options.ts';

/**
 * One call of `generateText` or `streamText` in version 6, whose events carry no id.
 *
 * That version tells neither of errors nor of aborts, and runs tools and requests without a word: tools are placed in
 * the trace while they are called, requests by where they are made.
 */
export class AiSdk6Call {
  readonly #id: string = newSpanId();
  readonly #options: TelemetryOptions;
  readonly #operations: Operations;
  #tools: PlacedTools | null = null;
  #maxRetries = 2;

  constructor(options: TelemetryOptions) {
    this.#options = options;
    this.#operations = options.operations;
  }

  start(event: SdkStart): void {
    this.#maxRetries = event.maxRetries ?? this.#maxRetries;
    const agentName = this.#options.naming.nameOf(event, 'generateText');
    this.#operations.begin({ id: this.#id, name: 'generateText', agentName });
    tellOfGatewayModel(event, this.#options);
  }

  startStep(event: SdkStepStart): void {
    if (!this.#operations.has(this.#id)) return;
    this.#tools = new PlacedTools(event.tools);
    this.#operations.beginStep(this.#id, event.stepNumber ?? 0);
    this.#operations.beginModelCall(this.#id, {
      request: requestOf({ ...event, modelId: event.model?.modelId }),
      areInputsRecorded: true,
      areOutputsRecorded: true,
      isUnplaced: true,
      maxRetries: this.#maxRetries,
    });
  }

  startTool(event: SdkToolEvent): void {
    const stepId = this.#operations.beginTool(this.#id, event);
    if (stepId === null) return;
    const { toolCallId, toolName } = event.toolCall;
    this.#tools?.place(toolName, {
      toolCallId,
      messages: event.messages,
      within: (run) => this.#operations.withinTool(this.#id, toolCallId, run),
    });
  }

  endTool({ toolCall, success, output, error }: SdkToolEvent): void {
    this.#tools?.release(toolCall.toolName, toolCall.toolCallId);
    this.#operations.endTool(this.#id, toolCall.toolCallId, success === false ? { error } : { output });
  }

  endStep(event: SdkAnswerEvent): void {
    this.#operations.answerModelCall(this.#id, event);
    this.#operations.endStep(this.#id);
  }

  end(): void {
    this.#operations.end(this.#id);
  }
}
