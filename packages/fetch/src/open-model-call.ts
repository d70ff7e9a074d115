import type {
  ActiveSpan,
  Attributes,
  AttributeValue,
  Clock,
  JsonObject,
  RolloutContext,
  SpanInput,
} from '@agentlightning/core';
import {
  type ModelApi,
  type ModelRequest,
  numberOf,
  samplingAttributes,
  textOf,
  usageAttributes,
} from '@agentlightning/core/adapter';
import { isJsonObject, type SecretFields, untrainableReason } from '@agentlightning/core/internal';
import {
  agentLightningAttributes,
  agentPathOf,
  genAiAttributes,
  modelCallAttributes,
  modelCallToSpan,
  spanNames,
} from '@agentlightning/core/spans';
import { newSpanId } from '@agentlightning/core/store';
import { AnswerReader } from './answer-reader.ts';

/** How calls of each API are called in the trace: the span's name and OpenTelemetry's operation. */
const names: Readonly<Record<ModelApi, { readonly span: string; readonly operation: string }>> = {
  'chat-completions': { span: spanNames.modelCall, operation: 'chat' },
  completions: { span: 'openai.completion', operation: 'text_completion' },
  responses: { span: 'openai.response', operation: 'chat' },
  embeddings: { span: 'openai.embedding', operation: 'embeddings' },
  messages: { span: 'anthropic.message', operation: 'chat' },
};

/** What a call is recorded with. */
export interface OpenModelCallOptions {
  readonly context: RolloutContext;
  readonly request: ModelRequest;
  readonly headers: Headers;
  readonly clock: Clock;
  /** The fields of request and response bodies that are redacted. */
  readonly secretFields: SecretFields;
}

/**
 * A model call that is under way and that this process records itself. It is a span like others, so that a call
 * whose answer is never read to its end is ended, as far as it came, when the attempt ends.
 */
export class OpenModelCall implements ActiveSpan {
  readonly traceId: string;
  readonly spanId: string = newSpanId();
  readonly #options: OpenModelCallOptions;
  readonly #startTimeMs: number;
  readonly #attributes: Record<string, AttributeValue> = {};
  #reader: AnswerReader;
  #httpStatus: number | null = null;
  #firstByteTimeMs: number | null = null;
  #isEnded = false;

  constructor(options: OpenModelCallOptions) {
    this.#options = options;
    this.traceId = options.context.traceId;
    this.#startTimeMs = options.clock.now();
    this.#reader = new AnswerReader(options.request.api, false);
    const resends = Number(options.headers.get('x-stainless-retry-count') ?? 0);
    if (resends > 0) this.#attributes['http.request.resend_count'] = resends;
    try {
      options.context.sink.spanStarted?.(this);
    } catch {
      // A sink must not throw. Where one does, the call is only not ended with its attempt.
    }
  }

  /** The answer has begun. */
  answered(response: Response): void {
    const isStreamed = response.headers.get('content-type')?.includes('text/event-stream') ?? false;
    this.#httpStatus = response.status;
    this.#reader = new AnswerReader(this.#options.request.api, isStreamed);
    this.#attributes[modelCallAttributes.isStreamed] = isStreamed;
  }

  /** Bytes of the answer have come. */
  take(bytes: Uint8Array): void {
    if (this.#isEnded) return;
    this.#firstByteTimeMs ??= this.#options.clock.now();
    this.#reader.take(bytes);
    if (this.#reader.hasEnded) this.finish(null);
  }

  /** No more bytes come. */
  ended(): void {
    this.#reader.ended();
    const isBroken = this.#attributes[modelCallAttributes.isStreamed] === true && !this.#reader.isWhole;
    this.finish(isBroken ? 'the connection closed before the answer was whole' : null);
  }

  /** The agent does not want more of the answer. */
  cancelled(): void {
    this.finish(this.#reader.isWhole ? null : 'the agent stopped reading before the answer was whole');
  }

  /** Records the call; later calls do nothing. */
  finish(failure: string | null): void {
    if (this.#isEnded) return;
    this.#isEnded = true;
    try {
      this.#options.context.sink.append(this.#toSpan(failure));
    } catch {
      // A sink must not throw. Where one does, the agent still gets its answer.
    }
  }

  setAttribute(name: string, value: AttributeValue): void {
    this.#attributes[name] = value;
  }

  setAttributes(attributes: Attributes): void {
    Object.assign(this.#attributes, attributes);
  }

  addEvent(): void {}

  setStatus(): void {}

  recordException(): void {}

  end(): void {
    this.finish('the attempt ended before the answer was whole');
  }

  #toSpan(failure: string | null): SpanInput {
    const { context, request, clock, secretFields } = this.#options;
    // Reading the body also collects its tokens, so it comes first.
    const response = this.#reader.toBody();
    const { captured } = this.#reader;
    // What the server says went wrong is the cause; that the agent then stopped reading only follows from it.
    const httpError = this.#httpError();
    const broken = httpError === null ? (this.#reader.failure ?? failure) : null;
    const error = httpError ?? broken;
    const reason = error ?? notChat(request.api) ?? untrainableReason(captured);
    const endTimeMs = clock.now();
    const span = modelCallToSpan(
      {
        rolloutId: context.rolloutId,
        attemptId: context.attemptId,
        spanId: this.spanId,
        responseId: captured.responseId ?? textOf(response?.id),
        model: request.model ?? '',
        policyVersion: captured.policyVersion,
        agentName: context.agentName,
        agentPath: context.agentName === null ? null : agentPathOf(context),
        promptTokenIds: captured.promptTokenIds,
        choices: captured.choices,
        temperature: numberOf(request.body.temperature) ?? 1,
        isTrainable: reason === null,
        untrainableReason: reason,
        request: request.body,
        response: response === null ? null : withoutTokens(response),
        startTimeMs: this.#startTimeMs,
        endTimeMs,
      },
      {
        traceId: this.traceId,
        parentId: context.parentSpanId,
        mode: context.mode,
        responseModel: captured.model ?? textOf(response?.model) ?? request.model ?? '',
        isPartial: broken !== null,
        latencyMs: endTimeMs - this.#startTimeMs,
        ...(this.#firstByteTimeMs === null ? {} : { timeToFirstTokenMs: this.#firstByteTimeMs - this.#startTimeMs }),
        ...(this.#httpStatus === null ? {} : { httpStatus: this.#httpStatus }),
        responseTokens: captured.responseTokens,
        requestText: request.text,
        secretFields,
        error,
      },
    );
    return this.#named({
      ...span,
      attributes: { ...span.attributes, ...samplingAttributes(request.body), ...usageAttributes(response ?? {}) },
    });
  }

  #named(span: SpanInput): SpanInput {
    const { api } = this.#options.request;
    const attributes: Record<string, AttributeValue> = { ...span.attributes, ...this.#attributes };
    attributes[genAiAttributes.operationName] = names[api].operation;
    attributes[agentLightningAttributes.stepKind] = api === 'embeddings' ? 'embedding' : 'model-call';
    attributes[agentLightningAttributes.framework] = 'fetch';
    if (api === 'embeddings') {
      // Nothing is sampled here: it is no call that could be trained on, or fail to be.
      delete attributes[modelCallAttributes.isTrainable];
      delete attributes[modelCallAttributes.untrainableReason];
    }
    return { ...span, name: names[api].span, attributes };
  }

  #httpError(): string | null {
    if (this.#httpStatus === null || this.#httpStatus < 400) return null;
    const { failure } = this.#reader;
    return `HTTP status ${this.#httpStatus}${failure === null ? '' : `: ${failure}`}`;
  }
}

function notChat(api: ModelApi): string | null {
  return api === 'chat-completions' ? null : `calls of the ${api} API carry no tokens to train on`;
}

/** The answer without what has attributes of its own. */
function withoutTokens(response: JsonObject): JsonObject {
  const { prompt_token_ids: _, choices, ...rest } = response;
  if (!Array.isArray(choices)) return rest;
  const visible = choices.filter(isJsonObject).map(({ token_ids: _ids, logprobs: _logprobs, ...choice }) => choice);
  return { ...rest, choices: visible };
}
