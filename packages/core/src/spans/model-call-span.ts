import { newTraceId } from '../base/id.ts';
import type { JsonObject } from '../base/json.ts';
import { textOf } from '../base/json-access.ts';
import { defaultSecretFields, type SecretFields } from '../redaction/secret-fields.ts';
import { agentPathText } from './agent-path.ts';
import { toGenAiMessages, toGenAiOutputMessages } from './gen-ai-messages.ts';
import type { ModelCall, ModelCallChoice, RolloutMode } from './model-call.ts';
import { toGenAiResponseInput, toGenAiResponseOutput } from './responses-messages.ts';
import type { Attributes, AttributeValue, SpanInput } from './span.ts';
import {
  agentLightningAttributes,
  genAiAttributes,
  modelCallAttributes,
  pythonReaderAttributes,
  spanNames,
} from './span-attributes.ts';

/** A model call before storage; the store assigns the next sequence id when it is absent. */
export type ModelCallInput = Omit<ModelCall, 'sequenceId'> & { readonly sequenceId?: number };

/** Optional details of a model call's recording. */
export interface ModelCallRecording {
  /** 32 hex digits. @default a new one */
  readonly traceId?: string;
  /** The enclosing span. @default null */
  readonly parentId?: string | null;
  /** The purpose of the rollout. */
  readonly mode?: RolloutMode | null;
  /** API of the agent's request: `chat-completions`, `completions`, `responses` or `messages`. */
  readonly api?: string;
  /** Whether the response was streamed. */
  readonly isStreamed?: boolean;
  /** Whether the response ended prematurely. */
  readonly isPartial?: boolean;
  /** From request to last byte, in milliseconds. */
  readonly latencyMs?: number;
  /** From request to the first byte of the response, in milliseconds. */
  readonly timeToFirstTokenMs?: number;
  /** HTTP status of the upstream's response. */
  readonly httpStatus?: number;
  /** Token counts reported by the engine. @default the numbers of token ids */
  readonly usage?: {
    readonly inputTokens: number;
    /** Input tokens that the engine had cached. @default unknown */
    readonly cachedInputTokens?: number | null;
    readonly outputTokens: number;
  };
  /** Effective sampling parameters other than the temperature. */
  readonly sampling?: { readonly topP?: number; readonly maxTokens?: number; readonly seed?: number };
  /** Text of each response token of the first choice, for display. */
  readonly responseTokens?: readonly string[];
  /** JSON of `call.request`, if available, to avoid serialising it again. */
  readonly requestText?: string;
  /** JSON of `call.response`, if available, to avoid serialising it again. */
  readonly responseText?: string;
  /** Redacted fields of both bodies. @default common names of credentials, such as `api_key` */
  readonly secretFields?: SecretFields;
  /** Error of the call; null on success. @default null */
  readonly error?: string | null;
}

/**
 * The span that records a model call. {@link modelCallFromSpan} is the exact inverse, except that credentials in the
 * bodies are redacted.
 *
 * The attributes are OpenTelemetry's `gen_ai.*`, `agentlightning.*`, and those of the Python readers.
 *
 * @param call - the call; its times must be finite numbers. Non-finite log-probabilities are omitted
 * @param recording - further details
 *
 * @example
 * ```ts
 * await store.appendSpans([modelCallToSpan(call, { parentId, latencyMs: 120 })]);
 * ```
 */
export function modelCallToSpan(call: ModelCallInput, recording: ModelCallRecording = {}): SpanInput {
  const error = recording.error ?? null;
  return {
    rolloutId: call.rolloutId,
    attemptId: call.attemptId,
    ...(call.sequenceId === undefined ? {} : { sequenceId: call.sequenceId }),
    traceId: recording.traceId ?? newTraceId(),
    spanId: call.spanId,
    parentId: recording.parentId ?? null,
    name: spanNames.modelCall,
    status: error === null ? { code: 'OK', message: null } : { code: 'ERROR', message: error },
    attributes: defined([
      callAttributes(call),
      tokenAttributes(call.choices, recording.responseTokens),
      bodyAttributes(call, recording),
      recordingAttributes(call, recording),
    ]),
    events: [],
    links: [],
    startTimeMs: call.startTimeMs,
    endTimeMs: call.endTimeMs,
    resource: { attributes: {}, schemaUrl: '' },
  };
}

/** Attributes with possibly unknown values. */
type MaybeAttributes = Readonly<Record<string, AttributeValue | null | undefined>>;

function callAttributes(call: ModelCallInput): MaybeAttributes {
  return {
    [genAiAttributes.operationName]: 'chat',
    [genAiAttributes.requestModel]: call.model,
    [genAiAttributes.responseModel]: call.responseModel ?? call.model,
    [modelCallAttributes.requestedModel]: requestedModelOf(call),
    [genAiAttributes.requestTemperature]: call.temperature,
    [genAiAttributes.responseId]: call.responseId,
    [genAiAttributes.agentName]: call.agentName,
    [pythonReaderAttributes.agentName]: call.agentName,
    [agentLightningAttributes.agentPath]: call.agentPath === null ? null : agentPathText(call.agentPath),
    [modelCallAttributes.promptTokenIds]: call.promptTokenIds,
    [modelCallAttributes.imageCount]: call.imageCount === 0 ? null : call.imageCount,
    [modelCallAttributes.policyVersion]: call.policyVersion,
    [modelCallAttributes.isTrainable]: call.isTrainable,
    [modelCallAttributes.untrainableReason]: call.untrainableReason,
    [modelCallAttributes.alteredSampling]: call.alteredSampling?.length ? [...call.alteredSampling] : null,
  };
}

/** The name in the agent's request, where another one was sent to the model server. */
function requestedModelOf({ model, request }: ModelCallInput): string | null {
  const name = textOf(request?.['model']);
  return name === model ? null : name;
}

function tokenAttributes(choices: readonly ModelCallChoice[], tokens: readonly string[] | undefined): MaybeAttributes {
  const first = choices[0];
  const logprobs = finite(first?.responseLogprobs ?? []);
  const finishReasons = choices.map((choice) => choice.finishReason ?? '');
  const isPlain = choices.length === 1 && first?.index === 0 && first.finishReason !== '';
  return {
    [modelCallAttributes.responseTokenIds]: first?.responseTokenIds ?? [],
    [modelCallAttributes.responseLogprobs]: logprobs,
    [modelCallAttributes.responsePolicyVersions]: first?.responsePolicyVersions,
    [modelCallAttributes.responseTokens]: tokens,
    [genAiAttributes.responseFinishReasons]: finishReasons.some((reason) => reason !== '') ? finishReasons : null,
    [modelCallAttributes.choices]: isPlain ? null : JSON.stringify(choices.map(choiceToJson)),
  };
}

/** Empty when one is not finite: JSON would encode it as null, and an HTTP store would reject the span. */
function finite(logprobs: readonly number[]): readonly number[] {
  return logprobs.every(Number.isFinite) ? logprobs : [];
}

function choiceToJson(choice: ModelCallChoice): object {
  return {
    index: choice.index,
    response_token_ids: choice.responseTokenIds,
    response_logprobs: finite(choice.responseLogprobs),
    response_policy_versions: choice.responsePolicyVersions,
    finish_reason: choice.finishReason,
  };
}

function bodyAttributes(call: ModelCallInput, recording: ModelCallRecording): MaybeAttributes {
  const { body: request, text: requestText } = redactBody(call.request, recording.requestText, recording);
  const { body: response, text: responseText } = redactBody(call.response, recording.responseText, recording);
  return {
    [genAiAttributes.inputMessages]: request === null ? null : inputMessages(request),
    [genAiAttributes.toolDefinitions]: request?.tools === undefined ? null : JSON.stringify(request.tools),
    [modelCallAttributes.requestBody]: requestText,
    [genAiAttributes.outputMessages]: response === null ? null : outputMessages(response),
    [modelCallAttributes.responseBody]: responseText,
  };
}

/** A body as recorded, and its JSON: the given text, when nothing in it is redacted. */
function redactBody(
  body: JsonObject | null,
  text: string | undefined,
  { secretFields = defaultSecretFields }: ModelCallRecording,
): { readonly body: JsonObject | null; readonly text: string | null } {
  if (body === null) return { body, text: text ?? null };
  const redacted = secretFields.redact(body);
  return { body: redacted, text: redacted === body && text !== undefined ? text : JSON.stringify(redacted) };
}

/** For Chat Completions, Completions, Responses or Anthropic Messages. */
function inputMessages(request: JsonObject): string | null {
  const { messages, system, prompt } = request;
  if (Array.isArray(messages)) {
    const all = system === undefined ? messages : [{ role: 'system', content: system }, ...messages];
    return JSON.stringify(toGenAiMessages(all));
  }
  if (typeof prompt === 'string') return JSON.stringify(toGenAiMessages([{ role: 'user', content: prompt }]));
  return request.input === undefined ? null : JSON.stringify(toGenAiResponseInput(request));
}

function outputMessages(response: JsonObject): string {
  const { choices, output } = response;
  const isResponse = choices === undefined && output !== undefined;
  return JSON.stringify(isResponse ? toGenAiResponseOutput(output) : toGenAiOutputMessages(response));
}

function recordingAttributes(call: ModelCallInput, recording: ModelCallRecording): MaybeAttributes {
  return {
    [genAiAttributes.requestTopP]: recording.sampling?.topP,
    [genAiAttributes.requestMaxTokens]: recording.sampling?.maxTokens,
    [genAiAttributes.requestSeed]: recording.sampling?.seed,
    [genAiAttributes.usageInputTokens]: recording.usage?.inputTokens ?? call.promptTokenIds.length,
    [genAiAttributes.usageCachedInputTokens]: recording.usage?.cachedInputTokens,
    [genAiAttributes.usageOutputTokens]:
      recording.usage?.outputTokens ?? call.choices.reduce((sum, choice) => sum + choice.responseTokenIds.length, 0),
    [modelCallAttributes.mode]: recording.mode,
    [modelCallAttributes.api]: recording.api,
    [modelCallAttributes.isStreamed]: recording.isStreamed,
    [modelCallAttributes.isPartial]: recording.isPartial,
    [modelCallAttributes.latencyMs]: recording.latencyMs,
    [modelCallAttributes.timeToFirstTokenMs]: recording.timeToFirstTokenMs,
    [modelCallAttributes.httpStatus]: recording.httpStatus,
  };
}

/** Assigned in one pass: every model call of a gateway passes here. */
function defined(groups: readonly MaybeAttributes[]): Attributes {
  const known: Record<string, AttributeValue> = {};
  for (const group of groups) {
    for (const name in group) {
      const value = group[name];
      if (value !== null && value !== undefined) known[name] = value;
    }
  }
  return known;
}
