import type {
  ActiveSpan,
  Attributes,
  AttributeValue,
  Clock,
  JsonObject,
  RolloutContext,
  SpanInput,
} from '@agentlightning/core';
import type { ModelApi, ModelRequest } from '@agentlightning/core/adapter';
import {
  agentPathOf,
  genAiAttributes,
  isJsonObject,
  modelCallAttributes,
  numberOf,
  type SecretFields,
  samplingAttributes,
  textOf,
  untrainableReason,
  usageAttributes,
} from '@agentlightning/core/internal';
import { agentLightningAttributes, modelCallToSpan, spanNames } from '@agentlightning/core/spans';
import { newSpanId } from '@agentlightning/core/store';
import { ResponseReader } from './response-reader.ts';

/** The span name and the OpenTelemetry operation of each API. */
const names: Readonly<Record<ModelApi, { readonly span: string; readonly operation: string }>> = {
  'chat-completions': { span: spanNames.modelCall, operation: 'chat' },
  completions: { span: 'openai.completion', operation: 'text_completion' },
  responses: { span: 'openai.response', operation: 'chat' },
  embeddings: { span: 'openai.embedding', operation: 'embeddings' },
  messages: { span: 'anthropic.message', operation: 'chat' },
};

/** Options of {@link OpenModelCall}. */
export interface OpenModelCallOptions {
  readonly context: RolloutContext;
  readonly request: ModelRequest;
  readonly headers: Headers;
  readonly clock: Clock;
  /** The fields of request and response bodies that are redacted. */
  readonly secretFields: SecretFields;
}

/**
 * A model call in progress that this process records. It is an active span: if the agent never reads the response to its
 * end, the end of the attempt also ends the call, and the part received is recorded.
 */
export class OpenModelCall implements ActiveSpan {
  readonly traceId: string;
  readonly spanId: string = newSpanId();
  readonly #options: OpenModelCallOptions;
  readonly #startTimeMs: number;
  readonly #attributes: Record<string, AttributeValue> = {};
  #reader: ResponseReader;
  #httpStatus: number | null = null;
  #firstByteTimeMs: number | null = null;
  #isEnded = false;

  constructor(options: OpenModelCallOptions) {
    this.#options = options;
    this.traceId = options.context.traceId;
    this.#startTimeMs = options.clock.now();
    this.#reader = new ResponseReader(options.request.api, false);
    const resends = Number(options.headers.get('x-stainless-retry-count') ?? 0);
    if (resends > 0) this.#attributes['http.request.resend_count'] = resends;
    try {
      options.context.sink.spanStarted?.(this);
    } catch {
      // A sink must not throw. If one does, the end of the attempt does not end this call.
    }
  }

  /** The response headers have arrived. */
  responseStarted(response: Response): void {
    const isStreamed = response.headers.get('content-type')?.includes('text/event-stream') ?? false;
    this.#httpStatus = response.status;
    this.#reader = new ResponseReader(this.#options.request.api, isStreamed);
    this.#attributes[modelCallAttributes.isStreamed] = isStreamed;
  }

  /** Bytes of the response body have arrived. */
  take(bytes: Uint8Array): void {
    if (this.#isEnded) return;
    this.#firstByteTimeMs ??= this.#options.clock.now();
    this.#reader.take(bytes);
    if (this.#reader.hasEnded) this.finish(null);
  }

  /** The response body has ended. */
  ended(): void {
    this.#reader.ended();
    const isBroken = this.#attributes[modelCallAttributes.isStreamed] === true && !this.#reader.isWhole;
    this.finish(isBroken ? 'the connection closed before the response was complete' : null);
  }

  /** The agent has cancelled the response body. */
  cancelled(): void {
    this.finish(this.#reader.isWhole ? null : 'the agent stopped reading before the response was complete');
  }

  /** Records the call; later calls have no effect. */
  finish(failure: string | null): void {
    if (this.#isEnded) return;
    this.#isEnded = true;
    try {
      this.#options.context.sink.append(this.#toSpan(failure));
    } catch {
      // A sink must not throw. If one does, the agent still receives its response.
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
    this.finish('the attempt ended before the response was complete');
  }

  #toSpan(failure: string | null): SpanInput {
    const { context, request, clock, secretFields } = this.#options;
    // Reading the body also collects its tokens, so it must come first.
    const response = this.#reader.toBody();
    const { captured } = this.#reader;
    // An error reported by the server is the cause; an agent that then stops reading is a consequence.
    const httpError = this.#httpError();
    const broken = httpError === null ? (this.#reader.failure ?? failure) : null;
    const error = httpError ?? broken;
    const reason = error ?? notChat(request.api) ?? untrainableReason(captured, request.body);
    const endTimeMs = clock.now();
    const span = modelCallToSpan(
      {
        rolloutId: context.rolloutId,
        attemptId: context.attemptId,
        spanId: this.spanId,
        responseId: captured.responseId ?? textOf(response?.id),
        model: request.model ?? '',
        responseModel: captured.model ?? textOf(response?.model) ?? request.model ?? '',
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
      // This API does not sample tokens, so the trainable attributes do not apply.
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
  return api === 'chat-completions' ? null : `the ${api} API returns no training tokens`;
}

/** The response without the fields that are recorded as attributes. */
function withoutTokens(response: JsonObject): JsonObject {
  const { prompt_token_ids: _, choices, ...rest } = response;
  if (!Array.isArray(choices)) return rest;
  const visible = choices
    .filter(isJsonObject)
    .map(({ token_ids: _ids, logprobs: _logprobs, policy_versions: _versions, ...choice }) => choice);
  return { ...rest, choices: visible };
}
