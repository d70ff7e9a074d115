import { createHash } from 'node:crypto';
import type { JsonObject } from '@agentlightning/core';
import { AnswerEnd, firstChoice } from '../answer-parts/answer-end.ts';
import type { AnswerPart, PartHead } from '../answer-parts/answer-part.ts';
import { type NewCallId, partsOfMessage } from '../answer-parts/parts-of-message.ts';
import { isJsonList, objectOf, textOf } from '../http/json-access.ts';
import { toolInput } from './tool-input.ts';

/** What an answer in the form of Messages is made with. */
export interface MessageOptions {
  /** The request that it answers. */
  readonly request: JsonObject;
  /** 32 hex digits of its own, in its id. */
  readonly stem: string;
}

/** A whole Chat Completions body in the form of Messages. */
export function messageOf(body: JsonObject, options: MessageOptions): JsonObject {
  const end = new AnswerEnd();
  end.add(body);
  const parts = partsOfMessage(objectOf(firstChoice(body).message), newCallIdOf(options.stem));
  const content = parts.filter((part) => isShown(part, options.request)).map(contentBlock);
  return {
    ...messageHead(body, options),
    content,
    ...messageEnd(parts, end, options.request),
    usage: messageUsage(end),
  };
}

/** What a message says before anything of its answer has come, by the first chunk or a whole body. */
export function messageHead(body: JsonObject, { request, stem }: MessageOptions): JsonObject {
  return {
    id: messageId(stem),
    type: 'message',
    role: 'assistant',
    model: textOf(body.model) ?? textOf(request.model) ?? '',
    content: [],
    stop_reason: null,
    stop_sequence: null,
  };
}

/** The id of a message. */
export function messageId(stem: string): string {
  return `msg_${stem}`;
}

/** Why a message ended. */
export function messageEnd(parts: readonly PartHead[], end: AnswerEnd, request: JsonObject): JsonObject {
  const { finishReason, stopSequence } = end;
  const sequences = isJsonList(request.stop_sequences) ? request.stop_sequences : [];
  const isStopped = finishReason === 'stop' && stopSequence !== null && sequences.includes(stopSequence);
  return {
    stop_reason: isStopped ? 'stop_sequence' : stopReason(parts, finishReason),
    stop_sequence: isStopped ? stopSequence : null,
  };
}

/** The token counts, in which cached tokens are counted apart. */
export function messageUsage(end: AnswerEnd): JsonObject {
  const { inputTokens, cachedTokens, outputTokens } = end.usage;
  return {
    input_tokens: Math.max(0, inputTokens - cachedTokens),
    cache_creation_input_tokens: 0,
    cache_read_input_tokens: cachedTokens,
    output_tokens: outputTokens,
  };
}

/** Whether the client wants to see a piece: thoughts not when it said so. */
export function isShown(part: PartHead, request: JsonObject): boolean {
  return part.kind !== 'reasoning' || objectOf(request.thinking).type !== 'disabled';
}

/** A block of a message's content. */
export function contentBlock(part: AnswerPart): JsonObject {
  switch (part.kind) {
    case 'reasoning':
      return { type: 'thinking', thinking: part.text, signature: signatureOf(part.text) };
    case 'call':
      return { type: 'tool_use', id: part.id, name: part.name, input: toolInput(part.text) };
    case 'text':
    case 'refusal':
      return { type: 'text', text: part.text };
  }
}

/** Clients send thoughts back only when they are signed; what it says is of no use to anybody. */
export function signatureOf(text: string): string {
  return createHash('sha256').update(text).digest('base64');
}

/** Ids for calls that the engine left without one. */
export function newCallIdOf(stem: string): NewCallId {
  return (index) => `toolu_${stem.slice(0, 20)}_${index}`;
}

function stopReason(parts: readonly PartHead[], finishReason: string | null): string {
  if (finishReason === 'length') return 'max_tokens';
  if (finishReason === 'content_filter' || parts.some((part) => part.kind === 'refusal')) return 'refusal';
  return parts.some((part) => part.kind === 'call') ? 'tool_use' : 'end_turn';
}
