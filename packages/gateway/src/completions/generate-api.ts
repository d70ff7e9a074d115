import type { JsonObject, JsonValue } from '@agentlightning/core';
import { engines, isJsonObject, tokenIdFlag } from '@agentlightning/core/internal';
import { badRequest } from '../model-api/bad-request.ts';
import { ChatStream } from '../model-api/chat-stream.ts';
import { type PreparedRequest, type PrepareOptions, prepareRequest } from '../model-api/prepared-request.ts';
import type { UpstreamApi } from '../model-api/upstream-api.ts';
import { visibleResponse } from '../model-api/visible-response.ts';
import { isJsonList } from '../wire/json-access.ts';
import { StreamedCompletion } from './streamed-completion.ts';

/**
 * Sampling from token ids, as vLLM offers it: `token_ids` and `sampling_params` in the request, `token_ids` and
 * log-probabilities of each choice in the response. Training clients render the prompt themselves.
 */
export const generateApi: UpstreamApi = {
  // Next to the API's root, not below it.
  path: `/..${engines.vllm.routes.generate}`,
  prepare: prepareGenerate,
  standard: (body) => body,
  capture: (body, captured) => captured.add(withId(body)),
  visible: visibleResponse,
  stream: (captured, added) =>
    new ChatStream(captured, added, { toChatLogprobs: withId, standard: null, body: new StreamedCompletion() }),
};

function prepareGenerate(request: JsonObject, options: PrepareOptions): PreparedRequest {
  const { token_ids: tokenIds, sampling_params: params = {} } = request;
  if (!isJsonList(tokenIds) || tokenIds.length === 0 || !tokenIds.every((id) => typeof id === 'number')) {
    throw badRequest('token_ids', 'token_ids is not a list of token ids', 'Send the ids of the rendered prompt.');
  }
  if (!isJsonObject(params)) throw badRequest('sampling_params', 'sampling_params is not an object');
  const { model = '', stream = false } = request;
  // The overrides of the mode apply to the sampling parameters, whose names are the same.
  const prepared = prepareRequest({ ...params, model, stream }, options);
  const sampling: Record<string, JsonValue> = JSON.parse(prepared.body);
  for (const name of ['model', 'stream', 'stream_options', 'logprobs', tokenIdFlag]) delete sampling[name];
  const isOwn = typeof params.logprobs === 'number';
  const logprobs = isOwn || prepared.added.logprobs ? { logprobs: params.logprobs ?? 0 } : {};
  return {
    ...prepared,
    body: JSON.stringify({ ...request, model: prepared.model, sampling_params: { ...sampling, ...logprobs } }),
    adapted: null,
    requestsTokens: true,
    promptTokenIds: tokenIds,
    added: { ...prepared.added, logprobs: prepared.added.logprobs && !isOwn, tokenIds: false, usage: false },
  };
}

function withId(body: JsonObject): JsonObject {
  return { ...body, id: body.id ?? body.request_id ?? null };
}
