import type { JsonObject, JsonValue } from '@agentlightning/core';
import { isJsonList, objectOf, objectsOf } from '../http/json-access.ts';

/** Moves the token fields of a Completions body or chunk to where Chat Completions have them. */
export function chatTokens(body: JsonObject): JsonObject {
  return { ...body, choices: objectsOf(body.choices).map(chatChoice) };
}

function chatChoice({ text: _, logprobs, ...choice }: JsonObject): JsonObject {
  const { tokens, token_logprobs: values } = objectOf(logprobs);
  if (!isJsonList(values)) return choice;
  const tokenAt = (index: number): JsonValue => (isJsonList(tokens) ? (tokens[index] ?? null) : null);
  return { ...choice, logprobs: { content: values.map((logprob, index) => ({ token: tokenAt(index), logprob })) } };
}
