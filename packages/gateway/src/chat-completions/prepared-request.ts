import { createHash } from 'node:crypto';
import type { JsonObject, JsonValue } from '@agentlightning/core';
import { isJsonObject } from '@agentlightning/core/internal';
import type { CallingAttempt } from '../calling-attempt.ts';
import type { SamplingOverrides, Upstream } from '../gateway-options.ts';
import { numberOf, textOf } from '../http/json-access.ts';

/** What the gateway asked for and the agent did not: it is taken out of what the agent sees. */
export interface AddedFields {
  readonly logprobs: boolean;
  readonly tokenIds: boolean;
  /** The usage at the end of a stream. */
  readonly usage: boolean;
}

/** A Chat Completions request as it goes to the upstream. */
export interface PreparedRequest {
  /** The body, as JSON. */
  readonly body: string;
  /** The body without what it asks for beyond the agent's request; null when it asks for nothing. */
  readonly plainBody: (() => string) | null;
  readonly isStreamed: boolean;
  /** Whether it asks for token ids. */
  readonly asksForTokens: boolean;
  readonly added: AddedFields;
  /** What the upstream knows the model as. */
  readonly model: string;
  /** The sampling parameters in force; OpenAI's default temperature is 1. */
  readonly temperature: number;
  readonly topP: number | null;
  readonly maxTokens: number | null;
  readonly seed: number | null;
}

/** What a request is prepared with. */
export interface PrepareOptions {
  readonly upstream: Upstream;
  /** Null for a call that belongs to no attempt and is not recorded. */
  readonly attempt: CallingAttempt | null;
  readonly sampling: SamplingOverrides;
}

/**
 * A request as it goes to the upstream: with the upstream's model, the sampling that is in force for the rollout's
 * mode, and the fields that make the engine tell its tokens. Everything else is the agent's.
 */
export function prepareRequest(request: JsonObject, options: PrepareOptions): PreparedRequest {
  const isStreamed = request.stream === true;
  // A plain call is recorded as it is, with nothing asked for on top.
  const isCaptured = options.attempt !== null && !options.attempt.isPlain;
  const wantsTokens = isCaptured && options.upstream.capture !== 'text';
  const streamOptions = isJsonObject(request.stream_options) ? request.stream_options : {};
  const added: AddedFields = {
    logprobs: wantsTokens && request.logprobs !== true,
    tokenIds: wantsTokens && request.return_token_ids !== true,
    usage: isCaptured && isStreamed && streamOptions.include_usage !== true,
  };
  const body: JsonObject = {
    ...request,
    ...samplingFields(request, options),
    model: options.upstream.model ?? request.model ?? '',
    ...(added.logprobs ? { logprobs: true } : {}),
    ...(added.tokenIds ? { return_token_ids: true } : {}),
    ...(added.usage ? { stream_options: { ...streamOptions, include_usage: true } } : {}),
  };
  return {
    body: JSON.stringify(body),
    plainBody: added.logprobs || added.tokenIds ? () => JSON.stringify(withoutTokens(body, added)) : null,
    isStreamed,
    asksForTokens: added.tokenIds || request.return_token_ids === true,
    added,
    model: textOf(body.model) ?? '',
    temperature: numberOf(body.temperature) ?? 1,
    topP: numberOf(body.top_p),
    maxTokens: numberOf(body.max_completion_tokens) ?? numberOf(body.max_tokens),
    seed: numberOf(body.seed),
  };
}

/**
 * A request in an API that tells no tokens, as it goes to the upstream: nothing is asked for on top.
 *
 * @param limitName - what the API calls the most tokens of an answer
 */
export function prepareUntokened(request: JsonObject, options: PrepareOptions, limitName: string): PreparedRequest {
  const { temperature, topP, maxTokens } = options.sampling;
  const body: JsonObject = {
    ...request,
    ...(temperature === undefined ? {} : { temperature }),
    ...(topP === undefined ? {} : { top_p: topP }),
    ...(maxTokens === undefined ? {} : { [limitName]: Math.min(maxTokens, numberOf(request[limitName]) ?? maxTokens) }),
    model: options.upstream.model ?? request.model ?? '',
  };
  return {
    body: JSON.stringify(body),
    plainBody: null,
    isStreamed: request.stream === true,
    asksForTokens: false,
    added: { logprobs: false, tokenIds: false, usage: false },
    model: textOf(body.model) ?? '',
    temperature: numberOf(body.temperature) ?? 1,
    topP: numberOf(body.top_p),
    maxTokens: numberOf(body[limitName]),
    seed: null,
  };
}

function withoutTokens(body: JsonObject, added: AddedFields): JsonObject {
  const plain: Record<string, JsonValue> = { ...body };
  if (added.logprobs) delete plain.logprobs;
  if (added.tokenIds) delete plain.return_token_ids;
  return plain;
}

function samplingFields(request: JsonObject, { sampling, attempt }: PrepareOptions): JsonObject {
  const { temperature, topP, maxTokens, seed } = sampling;
  return {
    ...(temperature === undefined ? {} : { temperature }),
    ...(topP === undefined ? {} : { top_p: topP }),
    ...(maxTokens === undefined ? {} : maxTokensField(request, maxTokens)),
    ...(seed === undefined || attempt === null ? {} : { seed: callSeed(seed, attempt) }),
  };
}

function maxTokensField(request: JsonObject, limit: number): JsonObject {
  const name = request.max_completion_tokens === undefined ? 'max_tokens' : 'max_completion_tokens';
  return { [name]: Math.min(limit, numberOf(request[name]) ?? limit) };
}

/** A seed of 31 bits, the most that every engine takes. */
function callSeed(seed: number, attempt: CallingAttempt): number {
  const key = `${seed}/${attempt.samplingKey}/${attempt.seedNumber}/${attempt.callIndex}`;
  return createHash('sha256').update(key).digest().readUInt32BE(0) >>> 1;
}
