import { createHash } from 'node:crypto';
import type { JsonObject } from '@agentlightning/core';
import { encodeReasoning } from '../model-api/opaque-reasoning.ts';
import {
  type NewCallId,
  type PartHead,
  partsOfMessage,
  type ResponsePart,
} from '../response-parts/parts-of-message.ts';
import { firstChoice, ResponseEnd } from '../response-parts/response-end.ts';
import { isJsonList, objectOf, textOf } from '../wire/json-access.ts';
import { toolInput } from './tool-input.ts';

/** Options of {@link messageOf}. */
export interface MessageOptions {
  /** The translated request. */
  readonly request: JsonObject;
  /** 32 hex digits, unique to the response; part of its id. */
  readonly stem: string;
}

/**
 * Converts a whole Chat Completions body to Messages. Fields that a response does not have, such as `citations`, are left
 * out as Anthropic does: strict clients reject null.
 */
export function messageOf(body: JsonObject, options: MessageOptions): JsonObject {
  const end = new ResponseEnd();
  end.add(body);
  const parts = partsOfMessage(objectOf(firstChoice(body).message), newCallIdOf(options.stem));
  const content = parts
    .filter((part) => isVisible(part, options.request))
    .map((part) => contentBlock(part, isOmitted(options.request)));
  return {
    ...messageHead(body, options),
    content,
    ...messageEnd(parts, end, options.request),
    usage: messageUsage(end),
  };
}

/** The message before any content, from the first chunk or a whole body. */
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

/** The message id. */
export function messageId(stem: string): string {
  return `msg_${stem}`;
}

/** The stop reason. */
export function messageEnd(parts: readonly PartHead[], end: ResponseEnd, request: JsonObject): JsonObject {
  const { finishReason, stopSequence } = end;
  const sequences = isJsonList(request.stop_sequences) ? request.stop_sequences : [];
  const isStopped = finishReason === 'stop' && stopSequence !== null && sequences.includes(stopSequence);
  return {
    stop_reason: isStopped ? 'stop_sequence' : stopReason(parts, finishReason),
    stop_sequence: isStopped ? stopSequence : null,
  };
}

/** The token counts; cached tokens are counted separately. */
export function messageUsage(end: ResponseEnd): JsonObject {
  const { inputTokens, cachedTokens, cacheWriteTokens, outputTokens, reasoningTokens } = end.usage;
  return {
    input_tokens: Math.max(0, inputTokens - cachedTokens - cacheWriteTokens),
    cache_creation_input_tokens: cacheWriteTokens,
    cache_read_input_tokens: cachedTokens,
    output_tokens: outputTokens,
    output_tokens_details: { thinking_tokens: reasoningTokens },
  };
}

/** Whether a part is visible: reasoning is hidden if the client disabled it. */
export function isVisible(part: PartHead, request: JsonObject): boolean {
  return part.kind !== 'reasoning' || objectOf(request.thinking).type !== 'disabled';
}

/** Whether reasoning has no text, only a signature. */
export function isOmitted(request: JsonObject): boolean {
  return objectOf(request.thinking).display === 'omitted';
}

/** Converts a part to a content block. */
export function contentBlock(part: ResponsePart, areThoughtsOmitted: boolean): JsonObject {
  switch (part.kind) {
    case 'reasoning': {
      const thinking = areThoughtsOmitted ? '' : part.text;
      return { type: 'thinking', thinking, signature: signatureOf(part.text, areThoughtsOmitted) };
    }
    case 'call':
      return {
        type: 'tool_use',
        id: part.id,
        name: part.name,
        input: toolInput(part.text),
        caller: { type: 'direct' },
      };
    case 'text':
    case 'refusal':
      return { type: 'text', text: part.text };
  }
}

/** Clients send reasoning back only when it is signed. */
export function signatureOf(text: string, areThoughtsOmitted: boolean): string {
  return areThoughtsOmitted ? encodeReasoning(text) : createHash('sha256').update(text).digest('base64');
}

/** Generates ids for tool calls without one. */
export function newCallIdOf(stem: string): NewCallId {
  return (index) => `toolu_${stem.slice(0, 20)}_${index}`;
}

function stopReason(parts: readonly PartHead[], finishReason: string | null): string {
  if (finishReason === 'length') return 'max_tokens';
  if (finishReason === 'content_filter' || parts.some((part) => part.kind === 'refusal')) return 'refusal';
  return parts.some((part) => part.kind === 'call') ? 'tool_use' : 'end_turn';
}
