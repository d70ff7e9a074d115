import { createHash } from 'node:crypto';
import type { JsonObject } from '@agentlightning/core';
import { AnswerEnd, firstChoice } from '../answer-parts/answer-end.ts';
import type { AnswerPart, PartHead } from '../answer-parts/answer-part.ts';
import { type NewCallId, partsOfMessage } from '../answer-parts/parts-of-message.ts';
import { isJsonList, objectOf, textOf } from '../http/json-access.ts';
import { sealedReasoning } from '../model-api/sealed-reasoning.ts';
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
  const content = parts
    .filter((part) => isShown(part, options.request))
    .map((part) => contentBlock(part, isOmitted(options.request)));
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
    container: null,
    diagnostics: null,
    stop_details: null,
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
    container: null,
    stop_details: null,
    stop_reason: isStopped ? 'stop_sequence' : stopReason(parts, finishReason),
    stop_sequence: isStopped ? stopSequence : null,
  };
}

/** The token counts, in which cached tokens are counted apart. */
export function messageUsage(end: AnswerEnd): JsonObject {
  const { inputTokens, cachedTokens, outputTokens, reasoningTokens } = end.usage;
  return {
    input_tokens: Math.max(0, inputTokens - cachedTokens),
    cache_creation_input_tokens: 0,
    cache_read_input_tokens: cachedTokens,
    output_tokens: outputTokens,
    output_tokens_details: { thinking_tokens: reasoningTokens },
    server_tool_use: null,
  };
}

/** Whether the client wants to see a piece: thoughts not when it said so. */
export function isShown(part: PartHead, request: JsonObject): boolean {
  return part.kind !== 'reasoning' || objectOf(request.thinking).type !== 'disabled';
}

/** Whether thoughts come without their text, which is then in their signature only. */
export function isOmitted(request: JsonObject): boolean {
  return objectOf(request.thinking).display === 'omitted';
}

/** A block of a message's content. */
export function contentBlock(part: AnswerPart, areThoughtsOmitted: boolean): JsonObject {
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
      return { type: 'text', text: part.text, citations: null };
  }
}

/** Clients send thoughts back only when they are signed. */
export function signatureOf(text: string, areThoughtsOmitted: boolean): string {
  return areThoughtsOmitted ? sealedReasoning(text) : createHash('sha256').update(text).digest('base64');
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
