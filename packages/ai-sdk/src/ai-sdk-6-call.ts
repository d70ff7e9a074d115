import { newSpanId } from '@agentlightning/core';
import type { Operation } from './operation.ts';
import { PlacedTools } from './placed-tools.ts';
import type { SdkAnswerEvent, SdkStart, SdkStepStart, SdkToolEvent } from './sdk-events.ts';
import { requestOf } from './sdk-messages.ts';
import { beginOperation, type TelemetryOptions } from './telemetry-options.ts';

/**
 * One call of `generateText` or `streamText` in version 6, whose events carry no id.
 *
 * That version tells neither of errors nor of aborts, and runs tools and requests without a word: tools are placed in
 * the trace while they are called, requests by where they are made.
 */
export class AiSdk6Call {
  readonly #options: TelemetryOptions;
  #operation: Operation | undefined;
  #tools: PlacedTools | undefined;
  #maxRetries = 2;

  constructor(options: TelemetryOptions) {
    this.#options = options;
  }

  start(event: SdkStart): void {
    this.#maxRetries = event.maxRetries ?? this.#maxRetries;
    this.#operation = beginOperation(this.#options, newSpanId(), { operationId: 'ai.generateText', ...event });
  }

  startStep(event: SdkStepStart): void {
    if (this.#operation === undefined) return;
    this.#tools = new PlacedTools(event.tools);
    this.#operation.beginStep(event.stepNumber);
    const request = requestOf({ ...event, modelId: event.model?.modelId });
    const { operations } = this.#options;
    operations.unplaced.add(operations.beginModelCall(this.#operation, { request, maxRetries: this.#maxRetries }));
  }

  startTool(event: SdkToolEvent): void {
    const stepId = this.#operation?.beginTool(event);
    if (stepId === undefined) return;
    const { toolCallId, toolName } = event.toolCall;
    this.#tools?.place(toolName, {
      toolCallId,
      messages: event.messages,
      within: (run) => this.#options.operations.steps.within(stepId, run),
    });
  }

  endTool({ toolCall: { toolCallId, toolName }, output, error }: SdkToolEvent): void {
    this.#tools?.release(toolName, toolCallId);
    this.#operation?.endTool(toolCallId, { output, error });
  }

  endStep(event: SdkAnswerEvent): void {
    this.#operation?.answerModelCall(event);
    this.#operation?.endStep();
  }

  end(): void {
    this.#operation?.end();
  }
}
