import { type Fields, fieldsOf } from '@agentlightning/core/internal';
import { newSpanId } from '@agentlightning/core/store';
import type { Operation } from './operation.ts';
import { patchTool } from './patch-tool.ts';
import type { SdkResponseEvent, SdkStart, SdkStepStart, SdkToolEvent } from './sdk-events.ts';
import { requestOf } from './sdk-messages.ts';
import { beginOperation, type TelemetryOptions } from './telemetry-options.ts';

/**
 * One call of `generateText` or `streamText` in version 6, whose events carry no id.
 *
 * Version 6 reports neither errors nor aborts, and has no hooks around tools and requests: tools are patched while they are
 * called, and requests are matched by their context.
 */
export class AISDK6Call {
  readonly #options: TelemetryOptions;
  #operation: Operation | undefined;
  /** The user's tools by name. */
  #tools: Fields = {};
  readonly #releases: Map<string, () => void> = new Map();
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
    this.#tools = fieldsOf(event.tools);
    this.#operation.beginStep();
    const request = requestOf(event);
    const call = this.#operation.beginModelCall({ request, maxRetries: this.#maxRetries });
    const { steps, unmatched } = this.#options.operations;
    unmatched.add(call, steps.rolloutOf(this.#operation.id));
  }

  startTool(event: SdkToolEvent): void {
    const stepId = this.#operation?.beginTool(event);
    if (stepId === undefined) return;
    const { toolCallId, toolName } = event.toolCall;
    const within = <TResult>(run: () => TResult): TResult => this.#options.operations.steps.within(stepId, run);
    this.#releases.set(toolCallId, patchTool(this.#tools[toolName], { toolCallId, messages: event.messages, within }));
  }

  endTool({ toolCall: { toolCallId }, output, error }: SdkToolEvent): void {
    this.#releases.get(toolCallId)?.();
    this.#releases.delete(toolCallId);
    this.#operation?.endTool(toolCallId, { output, error });
  }

  endStep(event: SdkResponseEvent): void {
    this.#operation?.completeModelCall(event);
    this.#operation?.endStep();
  }

  end(): void {
    this.#operation?.end();
  }
}
