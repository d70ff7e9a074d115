import { createHash } from 'node:crypto';
import type { JsonObject, JsonValue } from '@agentlightning/core';
import { alteredSampling, isJsonObject, tokenIdFlag } from '@agentlightning/core/internal';
import type { CallingAttempt } from '../attempts/calling-attempt.ts';
import type { RequestDialect } from '../upstream/request-dialect.ts';
import type { SamplingOverrides, Upstream } from '../wire/gateway-options.ts';
import { numberOf, textOf } from '../wire/json-access.ts';
import { adaptedMessages } from './adapted-messages.ts';

/** Fields requested by the gateway and not by the agent; removed from the response. And the model that the client has called. */
export interface AddedFields {
  readonly logprobs: boolean;
  readonly tokenIds: boolean;
  /** The usage at the end of a stream. */
  readonly usage: boolean;
  /** The deployment that the call named, which responses have as their model. @default the model of the upstream */
  readonly model?: string;
}

/** The forms of a request's body. */
export type RequestBodies = Pick<PreparedRequest, 'body' | 'adapted'>;

/** A Chat Completions request for the upstream. */
export interface PreparedRequest {
  /** The body, as JSON. */
  readonly body: string;
  /** The body for an upstream with other requirements; null when there is only one form of it. */
  readonly adapted: ((dialect: RequestDialect) => string) | null;
  /** The bodies with further fields, for a prompt of token ids; absent where a prompt has no messages. */
  readonly withFields?: (fields: JsonObject) => RequestBodies;
  readonly isStreamed: boolean;
  /** Whether it requests token ids. */
  readonly requestsTokens: boolean;
  /** The token ids of the prompt, if the request has them. */
  readonly promptTokenIds?: readonly number[];
  readonly added: AddedFields;
  /** Model name at the upstream. */
  readonly model: string;
  /** The effective sampling parameters; OpenAI's default temperature is 1. */
  readonly temperature: number;
  readonly topP: number | null;
  readonly maxTokens: number | null;
  readonly seed: number | null;
  /** Parameters by which the recorded log-probabilities differ from the policy's. */
  readonly alteredSampling: readonly string[];
}

/** Options of {@link prepareRequest}. */
export interface PrepareOptions {
  readonly upstream: Upstream;
  /** Null for a call that is not recorded. */
  readonly attempt: CallingAttempt | null;
  readonly sampling: SamplingOverrides;
}

/**
 * Converts a request for the upstream: with the upstream's model, the sampling overrides of the rollout's mode, and the
 * fields that request token ids. Other fields are unchanged.
 */
export function prepareRequest(request: JsonObject, options: PrepareOptions): PreparedRequest {
  const isStreamed = request.stream === true;
  // Plain calls are recorded without additional fields.
  const isCaptured = options.attempt !== null && !options.attempt.isUnattributed;
  const wantsTokens = isCaptured && options.upstream.capture !== 'text';
  const streamOptions = isJsonObject(request.stream_options) ? request.stream_options : {};
  const added: AddedFields = {
    logprobs: wantsTokens && request.logprobs !== true,
    tokenIds: wantsTokens && request[tokenIdFlag] !== true,
    usage: isCaptured && isStreamed && streamOptions.include_usage !== true,
    ...deploymentOf(options),
  };
  const body: JsonObject = {
    ...request,
    ...samplingFields(request, options),
    model: options.upstream.model ?? request.model ?? '',
    ...(added.logprobs ? { logprobs: true } : {}),
    ...(added.tokenIds ? { [tokenIdFlag]: true } : {}),
    ...(added.usage ? { stream_options: { ...streamOptions, include_usage: true } } : {}),
  };
  const withFields = (fields: JsonObject): RequestBodies => {
    const sent = { ...body, ...fields };
    return {
      body: JSON.stringify(sent),
      adapted: (dialect) => JSON.stringify(adaptedBody(sent, added, dialect)),
    };
  };
  return {
    ...withFields({}),
    withFields,
    isStreamed,
    requestsTokens: added.tokenIds || request[tokenIdFlag] === true,
    added,
    model: textOf(body.model) ?? '',
    temperature: numberOf(body.temperature) ?? 1,
    topP: numberOf(body.top_p),
    maxTokens: numberOf(body.max_completion_tokens) ?? numberOf(body.max_tokens),
    seed: numberOf(body.seed),
    alteredSampling: alteredSampling(body),
  };
}

/**
 * Converts a request of an API without token ids for the upstream: no fields are added.
 *
 * @param limitName - the field of the token limit in this API
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
    adapted: null,
    isStreamed: request.stream === true,
    requestsTokens: false,
    added: { logprobs: false, tokenIds: false, usage: false, ...deploymentOf(options) },
    model: textOf(body.model) ?? '',
    temperature: numberOf(body.temperature) ?? 1,
    topP: numberOf(body.top_p),
    maxTokens: numberOf(body[limitName]),
    seed: null,
    alteredSampling: [],
  };
}

function deploymentOf({ attempt }: PrepareOptions): Pick<AddedFields, 'model'> {
  return attempt?.production === undefined || attempt.production === null
    ? {}
    : { model: attempt.production.deployment };
}

function adaptedBody(body: JsonObject, added: AddedFields, dialect: RequestDialect): JsonObject {
  const { tokens } = dialect;
  const adapted: Record<string, JsonValue> = { ...body };
  const messages = adaptedMessages(body.messages, dialect);
  if (messages !== undefined) adapted.messages = messages;
  if (tokens === 'none') {
    if (added.logprobs) delete adapted.logprobs;
    if (added.tokenIds) delete adapted[tokenIdFlag];
  } else if (tokens === 'whole') {
    adapted.stream = false;
    delete adapted.stream_options;
  }
  return adapted;
}

function samplingFields(request: JsonObject, { sampling, attempt }: PrepareOptions): JsonObject {
  const { temperature, topP, maxTokens, seed = attempt?.samplingSeed ?? null } = sampling;
  return {
    ...(temperature === undefined ? {} : { temperature }),
    ...(topP === undefined ? {} : { top_p: topP }),
    ...(maxTokens === undefined ? {} : maxTokensField(request, maxTokens)),
    ...(seed === null || attempt === null ? {} : { seed: callSeed(seed, attempt) }),
  };
}

function maxTokensField(request: JsonObject, limit: number): JsonObject {
  const name = request.max_completion_tokens === undefined ? 'max_tokens' : 'max_completion_tokens';
  return { [name]: Math.min(limit, numberOf(request[name]) ?? limit) };
}

/** A 31-bit seed, the largest that every engine accepts. */
function callSeed(seed: number, attempt: CallingAttempt): number {
  const key = `${seed}/${attempt.samplingKey}/${attempt.seedNumber}/${attempt.callIndex}`;
  return createHash('sha256').update(key).digest().readUInt32BE(0) >>> 1;
}
