import type { JsonObject } from '@agentlightning/core';
import {
  type AgentStep,
  type Fields,
  fieldsOf,
  modelRequestAttributes,
  modelResponseAttributes,
  plainText,
  tapStream,
} from '@agentlightning/core/adapter';
import { parseJsonObject } from '@agentlightning/core/internal';
import { steps } from './recorded-steps.ts';

/** A span under which steps are started. */
export interface ParentSpan {
  readonly id: string;
  startChild(options: Fields, step: Omit<AgentStep, 'id' | 'parentId'>): ParentSpan;
}

/** The received part of a response. */
interface ReceivedResponse {
  id?: string;
  model?: string;
  finishReason?: string;
  text: string;
  reasoning: string;
  readonly toolCalls: JsonObject[];
  usage?: { input_tokens: number; output_tokens: number };
}

/** Records the steps and model calls of one generation, in the interface of Mastra's own trackers. */
export class ModelCallTracker {
  readonly #generation: ParentSpan;
  readonly #model: string;
  #stepCount = 0;
  #step: ParentSpan | null = null;
  #call: ParentSpan | null = null;
  /** Whether the request of the current call is being sent. */
  #isSending = false;
  #response: ReceivedResponse = { text: '', reasoning: '', toolCalls: [] };

  constructor(generation: ParentSpan, model: string) {
    this.#generation = generation;
    this.#model = model;
  }

  /** The parent of new spans, and the context of the model request. */
  getTracingContext(): { readonly currentSpan: ParentSpan } {
    return { currentSpan: (this.#isSending ? this.#call : this.#step) ?? this.#generation };
  }

  startStep(): void {
    this.#endStep();
    this.#stepCount += 1;
    this.#step = this.#generation.startChild({ type: 'model_step' }, { kind: 'step', name: `step ${this.#stepCount}` });
  }

  startInference(): void {
    const response: ReceivedResponse = { text: '', reasoning: '', toolCalls: [] };
    this.#response = response;
    this.#call = (this.#step ?? this.#generation).startChild(
      { type: 'model_inference' },
      {
        kind: 'model-call',
        name: this.#model,
        gathered: () => modelResponseAttributes(responseBody(response)),
      },
    );
    this.#isSending = true;
  }

  /** Called with the HTTP request when the response starts. */
  updateStep({ request }: Fields): void {
    this.#isSending = false;
    const { body } = fieldsOf(request);
    const known = parseJsonObject(plainText(body ?? ''));
    if (this.#call !== null && known !== null) steps.annotate(this.#call.id, modelRequestAttributes(known));
  }

  wrapStream<TStream extends ReadableStream<Fields>>(stream: TStream): TStream {
    return tapStream(stream, {
      take: (chunk) => this.#take(chunk),
      failed: (error) => this.#endStep({ error }),
      cancelled: () => this.#endStep({ isAborted: true }),
      ended: () => this.#endStep({ isAborted: true }),
    }) as TStream;
  }

  reportGenerationError({ error }: Fields): void {
    this.#endStep({ error });
    steps.end(this.#generation.id, { error });
  }

  endGeneration(): void {
    this.#endStep();
    steps.end(this.#generation.id);
  }

  updateGeneration(): void {}
  setInferenceContext(): void {}
  setDeferStepClose(): void {}
  exportCurrentStep(): undefined {}
  getPendingStepFinishPayload(): undefined {}
  setStepIndex(index: number): void {
    this.#stepCount = index;
  }
  getStepIndex(): number {
    return this.#stepCount;
  }

  #take({ type, payload }: Fields): void {
    const { text, toolCallId, toolName, args, error } = fieldsOf(payload);
    if (type === 'text-delta') this.#response.text += String(text);
    else if (type === 'reasoning-delta') this.#response.reasoning += String(text);
    else if (type === 'tool-call') {
      const target = { name: String(toolName), arguments: plainText(args) };
      this.#response.toolCalls.push({ id: String(toolCallId), type: 'function', function: target });
    } else if (type === 'error') this.#endStep({ error });
    else if (type === 'abort') this.#endStep({ isAborted: true });
    else if (type === 'step-finish') {
      finish(this.#response, fieldsOf(payload));
      this.#endStep();
    }
  }

  #endStep(end: { readonly error?: unknown; readonly isAborted?: boolean } = {}): void {
    this.#isSending = false;
    if (this.#call !== null) steps.end(this.#call.id, end);
    if (this.#step !== null) steps.end(this.#step.id);
    this.#call = null;
    this.#step = null;
  }
}

function finish(response: ReceivedResponse, { metadata, stepResult, output }: Fields): void {
  const { id, modelId } = fieldsOf(metadata);
  const { reason, rawReason = reason } = fieldsOf(stepResult);
  const { inputTokens, outputTokens } = fieldsOf(fieldsOf(output)['usage']);
  if (typeof id === 'string') response.id = id;
  if (typeof modelId === 'string') response.model = modelId;
  if (typeof rawReason === 'string') response.finishReason = rawReason;
  if (typeof inputTokens === 'number' && typeof outputTokens === 'number') {
    response.usage = { input_tokens: inputTokens, output_tokens: outputTokens };
  }
}

/** The received part in the form of Chat Completions. */
function responseBody({ id, model, finishReason, text, reasoning, toolCalls, usage }: ReceivedResponse): JsonObject {
  const message = {
    role: 'assistant',
    content: text,
    ...(reasoning === '' ? {} : { reasoning_content: reasoning }),
    ...(toolCalls.length === 0 ? {} : { tool_calls: toolCalls }),
  };
  return {
    ...(id === undefined ? {} : { id }),
    ...(model === undefined ? {} : { model }),
    choices: [{ message, finish_reason: finishReason ?? null }],
    ...(usage === undefined ? {} : { usage }),
  };
}
