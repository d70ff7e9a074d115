import type { JsonObject, JsonValue } from '@agentlightning/core';
import { isJsonList, objectOf, objectsOf } from '../http/json-access.ts';

/** A body or chunk of Completions with what it says about tokens where Chat Completions have it. */
export function chatTokens(body: JsonObject): JsonObject {
  return { ...body, choices: objectsOf(body.choices).map(chatChoice) };
}

function chatChoice({ text: _, logprobs, ...choice }: JsonObject): JsonObject {
  const { tokens, token_logprobs: values } = objectOf(logprobs);
  if (!isJsonList(values)) return choice;
  const tokenAt = (index: number): JsonValue => (isJsonList(tokens) ? (tokens[index] ?? null) : null);
  return { ...choice, logprobs: { content: values.map((logprob, index) => ({ token: tokenAt(index), logprob })) } };
}
