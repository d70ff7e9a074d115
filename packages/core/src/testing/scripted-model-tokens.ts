import type { JsonObject } from '../base/json.ts';

/**
 * Tokens of the scripted model: the bytes of the text, and two special tokens around each message, so that a continued
 * conversation has the earlier one as an exact prefix.
 *
 * @module
 */

const messageStart = 256;
const messageEnd = 257;

/** One token of a response. */
export interface ScriptedToken {
  readonly id: number;
  readonly text: string;
  /** Natural logarithm; synthetic, and deterministic per token and position. */
  readonly logprob: number;
}

/** Token ids of a prompt, with the start of the response at the end. */
export function promptTokenIds(messages: readonly JsonObject[]): readonly number[] {
  return [
    ...messages.flatMap((message) => [messageStart, ...bytes(`${message.role}\n${messageText(message)}`), messageEnd]),
    messageStart,
    ...bytes('assistant\n'),
  ];
}

/** Tokens of a response text, with the end of the message as the last one. */
export function responseTokens(text: string): readonly ScriptedToken[] {
  const ids = [...bytes(text), messageEnd];
  return ids.map((id, index) => ({
    id,
    text: id === messageEnd ? '' : String.fromCharCode(id),
    logprob: -(((id * 7 + index * 13) % 200) + 1) / 100,
  }));
}

/** Decodes tokens. */
export function tokensText(tokens: readonly ScriptedToken[]): string {
  return new TextDecoder().decode(Uint8Array.from(tokens.filter((token) => token.id < 256).map((token) => token.id)));
}

/** A tool call in the model's output text. */
export function toolCallText(name: string, argumentsText: string): string {
  return `<tool_call>${JSON.stringify({ name, arguments: argumentsText })}</tool_call>`;
}

function messageText(message: JsonObject): string {
  const calls = Array.isArray(message.tool_calls) ? message.tool_calls : [];
  const content = typeof message.content === 'string' ? message.content : JSON.stringify(message.content ?? '');
  return (
    (content === '""' ? '' : content) +
    calls.map((call) => toolCallText(call.function.name, call.function.arguments)).join('')
  );
}

function bytes(text: string): readonly number[] {
  return [...new TextEncoder().encode(text)];
}
