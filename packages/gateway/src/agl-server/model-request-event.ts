import type { JsonObject, JsonValue, ModelCall, Span } from '@agentlightning/core';
import {
  genAiAttributes,
  isJsonObject,
  modelCallAttributes,
  pythonReaderAttributes,
} from '@agentlightning/core/internal';
import { type ModelCallChoice, modelCallFromSpan } from '@agentlightning/core/spans';
import { endpointAttribute } from '../capture/call-recorder.ts';
import { listOf, numberOf } from '../wire/json-access.ts';

/** The policy version that an endpoint was registered with; null for an unregistered one. */
export type ServedVersion = (model: string) => number | null;

/** The data of the `model_request` event of a span; null unless the span records a model call. */
export function modelRequestFromSpan(span: Span, served: ServedVersion): JsonObject | null {
  const call = modelCallFromSpan(span);
  if (call === null) return null;
  const failure = failureOf(span, call);
  const version = call.policyVersion ?? served(call.model);
  const { routedExperts, choices } = choicesOf(call, span);
  const usage = usageOf(span, call);
  return {
    model: call.model,
    model_version: version,
    request: { ...call.request, model: call.model, temperature: call.temperature },
    response: {
      ...call.response,
      prompt_token_ids: call.promptTokenIds,
      choices,
      ...(failure === null || isJsonObject(call.response?.error) ? {} : { error: { message: failure } }),
    },
    server: { model: call.model, endpoint: text(span.attributes[endpointAttribute]), version },
    latency_ms: numberOf(span.attributes[modelCallAttributes.latencyMs]),
    http_status: numberOf(span.attributes[modelCallAttributes.httpStatus]),
    status: failure === null ? 'ok' : 'error',
    retry_count: numberOf(span.attributes['agentlightning.retry_count']) ?? 0,
    routed_experts: routedExperts,
    usage,
    finish_reason: call.choices[0]?.finishReason ?? null,
  };
}

/** Why the call is untrainable, reported as an error, the only reason that 1.0 readers know; null for a trainable call. */
function failureOf(span: Span, call: ModelCall): string | null {
  if (span.status.code === 'ERROR') return span.status.message ?? 'the call failed';
  if (span.attributes[modelCallAttributes.isPartial] === true) return 'the response is incomplete';
  if (call.isTrainable || lacksOnlyLogprobs(span, call)) return null;
  return call.untrainableReason;
}

/** Missing fields that readers handle: some train without them, and responses without token ids are skipped. */
function lacksOnlyLogprobs(span: Span, call: ModelCall): boolean {
  if (call.choices.some((choice) => choice.responseLogprobs.length > 0)) return false;
  if (call.promptTokenIds.length === 0 && call.choices.every((choice) => choice.responseTokenIds.length === 0)) {
    return true;
  }
  const outputCount = call.choices.reduce((sum, choice) => sum + choice.responseTokenIds.length, 0);
  const { input, output } = tokenCounts(span);
  return (
    (input ?? call.promptTokenIds.length) === call.promptTokenIds.length && (output ?? outputCount) === outputCount
  );
}

/** The choices as the engine returned them, including fields hidden from the agent. */
function choicesOf(call: ModelCall, span: Span): { choices: readonly JsonObject[]; routedExperts: JsonValue } {
  const seen: readonly JsonValue[] = listOf(call.response?.choices);
  let routedExperts: JsonValue = null;
  const choices = call.choices
    .filter(({ responseTokenIds, finishReason }) => responseTokenIds.length > 0 || finishReason !== null)
    .map((choice) => {
      const body = seen.find((other) => isJsonObject(other) && (other.index ?? 0) === choice.index);
      const { routed_experts: routes, ...rest } = isJsonObject(body) ? body : { index: choice.index };
      routedExperts ??= routes ?? null;
      return {
        finish_reason: choice.finishReason,
        ...rest,
        token_ids: choice.responseTokenIds,
        logprobs: logprobsOf(choice, { isText: 'text' in rest, span }),
      };
    });
  return { choices, routedExperts };
}

/** In the format of Completions for those, else of Chat Completions. */
function logprobsOf(choice: ModelCallChoice, at: { readonly isText: boolean; readonly span: Span }): JsonValue {
  if (choice.responseLogprobs.length === 0) return null;
  if (at.isText) return { token_logprobs: choice.responseLogprobs };
  const tokens = choice.index === 0 ? tokensOf(at.span) : [];
  return {
    content: choice.responseLogprobs.map((logprob, index) => ({ token: tokens[index] ?? '', logprob })),
  };
}

/** The text of each token, from the record or from a store behind HTTP. */
function tokensOf(span: Span): readonly string[] {
  const recorded = span.attributes[modelCallAttributes.responseTokens];
  if (Array.isArray(recorded)) return recorded.map(text);
  const written = span.attributes[pythonReaderAttributes.logprobs];
  if (typeof written !== 'string') return [];
  // Safe: the store derives it from what the gateway wrote.
  const entries = JSON.parse(written) as readonly { readonly token?: string }[];
  return entries.map((entry) => entry.token ?? '');
}

function usageOf(span: Span, call: ModelCall): JsonObject | null {
  const usage = call.response?.usage;
  if (isJsonObject(usage)) return usage;
  const { input, output } = tokenCounts(span);
  if (input === null || output === null) return null;
  return { prompt_tokens: input, completion_tokens: output, total_tokens: input + output };
}

function tokenCounts(span: Span): { readonly input: number | null; readonly output: number | null } {
  return {
    input: numberOf(span.attributes[genAiAttributes.usageInputTokens]),
    output: numberOf(span.attributes[genAiAttributes.usageOutputTokens]),
  };
}

function text(value: unknown): string {
  return typeof value === 'string' ? value : '';
}
