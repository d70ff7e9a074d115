import { agentPathText } from './agent-path.ts';
import { toGenAiMessages, toGenAiOutputMessages } from './gen-ai-messages.ts';
import { newTraceId } from './id.ts';
import type { JsonObject } from './json.ts';
import type { ModelCall, ModelCallChoice } from './model-call.ts';
import { defaultSecretFields, type SecretFields } from './redaction/secret-fields.ts';
import { toGenAiResponseInput, toGenAiResponseOutput } from './responses-messages.ts';
import type { RolloutMode } from './rollout.ts';
import type { Attributes, AttributeValue, SpanInput } from './span.ts';
import {
  agentLightningAttributes,
  genAiAttributes,
  modelCallAttributes,
  pythonReaderAttributes,
  spanNames,
} from './span-attributes.ts';

/** A model call on its way to the store, which gives it the next sequence id when it has none. */
export type ModelCallInput = Omit<ModelCall, 'sequenceId'> & { readonly sequenceId?: number };

/** What is known of a model call's recording beyond the call itself. Everything is optional. */
export interface ModelCallRecording {
  /** 32 hex digits. @default a new one */
  readonly traceId?: string;
  /** The span the call was made in. @default null */
  readonly parentId?: string | null;
  readonly mode?: RolloutMode | null;
  /** The API that the agent spoke: `chat-completions`, `completions`, `responses` or `messages`. */
  readonly api?: string;
  /** The model as the engine names it. @default the call's model */
  readonly responseModel?: string;
  readonly isStreamed?: boolean;
  /** Whether the answer broke off before its end. */
  readonly isPartial?: boolean;
  /** From request to last byte, in milliseconds. */
  readonly latencyMs?: number;
  /** From request to the first byte of the answer, in milliseconds. */
  readonly timeToFirstTokenMs?: number;
  /** HTTP status of the upstream's answer. */
  readonly httpStatus?: number;
  /** Token counts as the engine reports them. @default the numbers of token ids */
  readonly usage?: { readonly inputTokens: number; readonly outputTokens: number };
  /** Sampling parameters that were in force, beyond the temperature. */
  readonly sampling?: { readonly topP?: number; readonly maxTokens?: number; readonly seed?: number };
  /** The text of each response token of the first choice, for people to read. */
  readonly responseTokens?: readonly string[];
  /** JSON of `call.request`, where it is at hand, so that it is not made again. */
  readonly requestText?: string;
  /** JSON of `call.response`, where it is at hand, so that it is not made again. */
  readonly responseText?: string;
  /** The fields of both bodies that are redacted. @default the usual names of credentials, such as `api_key` */
  readonly secretFields?: SecretFields;
  /** What went wrong with the call; null when it went well. @default null */
  readonly error?: string | null;
}

/**
 * The span that records a model call. {@link modelCallFromSpan} gives the call back, exactly, but for the credentials in
 * its bodies: these are redacted.
 *
 * The attributes are OpenTelemetry's `gen_ai.*`, ours, and the names that the Python readers look for.
 *
 * @param call - the call; its times must be finite numbers. Log-probabilities that are not are left out
 * @param recording - what else is known of it
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

/** Attributes, some of which may be unknown. */
type MaybeAttributes = Readonly<Record<string, AttributeValue | null | undefined>>;

function callAttributes(call: ModelCallInput): MaybeAttributes {
  return {
    [genAiAttributes.operationName]: 'chat',
    [genAiAttributes.requestModel]: call.model,
    [genAiAttributes.requestTemperature]: call.temperature,
    [genAiAttributes.responseId]: call.responseId,
    [genAiAttributes.agentName]: call.agentName,
    [pythonReaderAttributes.agentName]: call.agentName,
    [agentLightningAttributes.agentPath]: call.agentPath === null ? null : agentPathText(call.agentPath),
    [modelCallAttributes.promptTokenIds]: call.promptTokenIds,
    [modelCallAttributes.policyVersion]: call.policyVersion,
    [modelCallAttributes.isTrainable]: call.isTrainable,
    [modelCallAttributes.untrainableReason]: call.untrainableReason,
  };
}

function tokenAttributes(choices: readonly ModelCallChoice[], tokens: readonly string[] | undefined): MaybeAttributes {
  const first = choices[0];
  const logprobs = finite(first?.responseLogprobs ?? []);
  const finishReasons = choices.map((choice) => choice.finishReason ?? '');
  const isPlain = choices.length === 1 && first?.index === 0 && first.finishReason !== '';
  return {
    [modelCallAttributes.responseTokenIds]: first?.responseTokenIds ?? [],
    [modelCallAttributes.responseLogprobs]: logprobs,
    [modelCallAttributes.responseTokens]: tokens,
    [genAiAttributes.responseFinishReasons]: finishReasons.some((reason) => reason !== '') ? finishReasons : null,
    [modelCallAttributes.choices]: isPlain ? null : JSON.stringify(choices.map(choiceToJson)),
  };
}

/** None when one is no number: JSON would make it null, and a store behind HTTP would refuse the span for it. */
function finite(logprobs: readonly number[]): readonly number[] {
  return logprobs.every(Number.isFinite) ? logprobs : [];
}

function choiceToJson(choice: ModelCallChoice): object {
  return {
    index: choice.index,
    response_token_ids: choice.responseTokenIds,
    response_logprobs: finite(choice.responseLogprobs),
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

/** A body as it is recorded, and its JSON: the text at hand, where nothing in it is redacted. */
function redactBody(
  body: JsonObject | null,
  text: string | undefined,
  { secretFields = defaultSecretFields }: ModelCallRecording,
): { readonly body: JsonObject | null; readonly text: string | null } {
  if (body === null) return { body, text: text ?? null };
  const redacted = secretFields.redact(body);
  return { body: redacted, text: redacted === body && text !== undefined ? text : JSON.stringify(redacted) };
}

/** Of Chat Completions, Completions, Responses or Anthropic Messages. */
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
    [genAiAttributes.responseModel]: recording.responseModel ?? call.model,
    [genAiAttributes.requestTopP]: recording.sampling?.topP,
    [genAiAttributes.requestMaxTokens]: recording.sampling?.maxTokens,
    [genAiAttributes.requestSeed]: recording.sampling?.seed,
    [genAiAttributes.usageInputTokens]: recording.usage?.inputTokens ?? call.promptTokenIds.length,
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

/** Made in one go: every model call of a gateway comes by here. */
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
