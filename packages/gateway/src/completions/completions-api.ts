import type { JsonObject, JsonValue } from '@agentlightning/core';
import { ChatStream, streamOfChunk } from '../model-api/chat-stream.ts';
import {
  type AddedFields,
  type PreparedRequest,
  type PrepareOptions,
  prepareRequest,
} from '../model-api/prepared-request.ts';
import type { UpstreamApi } from '../model-api/upstream-api.ts';
import { visibleResponse } from '../model-api/visible-response.ts';
import { isJsonList, objectOf, objectsOf } from '../wire/json-access.ts';
import { StreamedCompletion } from './streamed-completion.ts';

/** The Completions API: a chat engine with a raw prompt instead of messages. */
export const completionsApi: UpstreamApi = {
  path: '/completions',
  prepare: prepareCompletion,
  standard: (body) => body,
  capture: (body, captured) => captured.add(toChatLogprobs(body)),
  visible: visibleResponse,
  // A chunk of Completions has the form of a whole body.
  streamOfWhole: streamOfChunk,
  stream: (captured, added) =>
    new ChatStream(captured, added, { toChatLogprobs, standard: null, body: new StreamedCompletion() }),
};

/** In Completions, `logprobs` is a number: how many alternatives to return for each token. */
function prepareCompletion(request: JsonObject, options: PrepareOptions): PreparedRequest {
  const prepared = prepareRequest(request, options);
  const isOwn = typeof request.logprobs === 'number';
  const added: AddedFields = { ...prepared.added, logprobs: prepared.added.logprobs && !isOwn };
  const logprobs = added.logprobs ? 1 : (request.logprobs ?? null);
  const inBody = (body: JsonObject): string => JSON.stringify(logprobs === null ? body : { ...body, logprobs });
  return {
    ...prepared,
    added,
    body: inBody(JSON.parse(prepared.body)),
    adapted: (dialect) => {
      const adapted = prepared.adapted?.(dialect) ?? prepared.body;
      return dialect.tokens === 'none' && !isOwn ? adapted : inBody(JSON.parse(adapted));
    },
  };
}

/** Moves the log-probabilities of a Completions body or chunk to where Chat Completions have them. */
function toChatLogprobs(body: JsonObject): JsonObject {
  return { ...body, choices: objectsOf(body.choices).map(chatChoice) };
}

function chatChoice({ text: _, logprobs, ...choice }: JsonObject): JsonObject {
  const { tokens, token_logprobs: values } = objectOf(logprobs);
  if (!isJsonList(values)) return choice;
  const tokenAt = (index: number): JsonValue => (isJsonList(tokens) ? (tokens[index] ?? null) : null);
  return { ...choice, logprobs: { content: values.map((logprob, index) => ({ token: tokenAt(index), logprob })) } };
}
