import type { JsonObject } from '@agentlightning/core';
import {
  type CapturedResponse,
  isJsonObject,
  parseJsonObject,
  ResponseStandardizer,
  StreamedMessage,
} from '@agentlightning/core/internal';
import { type GatewayError, notUnderstood } from '../wire/gateway-error.ts';
import { isJsonList, objectOf, objectsOf } from '../wire/json-access.ts';
import { type StreamEntry, writeEntry } from '../wire/server-sent-events.ts';
import { type AddedFields, prepareRequest } from './prepared-request.ts';
import { failureMessage, type LastEntry, type StreamConverter } from './stream-converter.ts';
import type { UpstreamApi } from './upstream-api.ts';
import { isOnlyUsage, visibleResponse } from './visible-response.ts';

/** The chunks of an API, as far as Chat Completions and Completions differ. */
export interface ChunkFormat {
  /** The chunk with its log-probabilities where Chat Completions have them. */
  readonly toChatLogprobs: (chunk: JsonObject) => JsonObject;
  /** The chunk as OpenAI sends it. */
  readonly standard: Pick<ResponseStandardizer, 'add' | 'problem' | 'problemAtEnd'> | null;
  /** Assembles the body of the equivalent non-streamed response. */
  readonly body: { add(chunk: JsonObject): void; toBody(): JsonObject };
}

/**
 * A stream of Chat Completions or Completions that reaches its client unchanged, except for the fields that only the gateway
 * requested.
 */
export class ChatStream implements StreamConverter {
  readonly #captured: CapturedResponse;
  readonly #added: AddedFields;
  readonly #format: ChunkFormat;

  /**
   * @param captured - collects the tokens
   * @param format - that of Chat Completions by default
   */
  constructor(captured: CapturedResponse, added: AddedFields, format: ChunkFormat = chatFormat()) {
    this.#captured = captured;
    this.#added = added;
    this.#format = format;
  }

  /** A response without an end marker is complete when every choice has a finish reason. */
  get isFinished(): boolean {
    return this.#captured.isFinished;
  }

  take(entry: StreamEntry): string | LastEntry {
    if (entry.kind === 'comment') return writeEntry(entry);
    const { standard } = this.#format;
    if (entry.data === doneMarker) return problemIn(standard?.problemAtEnd()) ?? chatEnd;
    if (entry.data.trim() === '') return '';
    const sent = parseJsonObject(entry.data);
    if (sent === null) return writeEntry(entry);
    if (isJsonObject(sent.error)) {
      return { kind: 'failure', message: failureMessage(sent.error), text: writeEntry(entry) };
    }
    const chunk = standard?.add(sent) ?? sent;
    const problem = problemIn(standard?.problem);
    if (problem !== null) return problem;
    // A keep-alive, which clients would take for a chunk.
    if (!isJsonList(chunk.choices) && chunk.usage === undefined) return '';
    this.#captured.add(this.#format.toChatLogprobs(chunk));
    const visible = visibleResponse(chunk, this.#added);
    this.#format.body.add(visible);
    if (isOnlyUsage(chunk, this.#added)) return '';
    return visible === sent ? writeEntry(entry) : writeEntry({ ...entry, data: JSON.stringify(visible) });
  }

  broken(error: GatewayError): string {
    return `data: ${error.toBody()}\n\n`;
  }

  recorded(): JsonObject {
    return this.#format.body.toBody();
  }
}

function chatFormat(): ChunkFormat {
  return { toChatLogprobs: (chunk) => chunk, standard: new ResponseStandardizer(true), body: new StreamedMessage() };
}

/** The end of a stream that cannot be understood; null for no problem. */
function problemIn(message: string | null | undefined): LastEntry | null {
  if (message === null || message === undefined) return null;
  return { kind: 'failure', message, text: `data: ${notUnderstood(message).toBody()}\n\n` };
}

/** Data of the event after the last chunk. */
export const doneMarker = '[DONE]';

const chatEnd: LastEntry = { kind: 'end', text: `data: ${doneMarker}\n\n` };

/** A whole body as the only chunk of a stream. */
export function chunkOfWhole(body: JsonObject): JsonObject {
  const choices = objectsOf(body.choices).map(({ message, ...choice }) => ({ ...choice, delta: deltaOf(message) }));
  return { ...body, object: 'chat.completion.chunk', choices };
}

/** Adds the index that streamed tool calls carry. */
function deltaOf(message: JsonObject[string] | undefined): JsonObject {
  const { tool_calls: calls, ...rest } = objectOf(message);
  if (!isJsonList(calls) || calls.length === 0) return rest;
  return { ...rest, tool_calls: objectsOf(calls).map((call, index) => ({ ...call, index })) };
}

/** A whole response as a stream, for a client that requested one: a chunk, its usage if requested, and the end marker. */
export function streamOfChat(visible: JsonObject, added: AddedFields): string {
  return streamOfChunk(chunkOfWhole(visible), added);
}

/** The only chunk of a response as a stream. */
export function streamOfChunk({ usage, ...chunk }: JsonObject, added: AddedFields): string {
  const chunks = usage === undefined || added.usage ? [chunk] : [chunk, { ...chunk, choices: [], usage }];
  const events = chunks.map((data) => writeEntry({ kind: 'event', event: undefined, data: JSON.stringify(data) }));
  return `${events.join('')}${chatEnd.text}`;
}

/** The Chat Completions API. */
export const chatCompletionsApi: UpstreamApi = {
  path: '/chat/completions',
  prepare: prepareRequest,
  standard: standardResponse,
  capture: (body, captured) => captured.add(body),
  visible: visibleResponse,
  streamOfWhole: streamOfChat,
  stream: (captured, added) => new ChatStream(captured, added),
};

function standardResponse(body: JsonObject): JsonObject {
  const standard = new ResponseStandardizer(false);
  const response = standard.add(body);
  const problem = standard.problemAtEnd();
  if (problem !== null) throw notUnderstood(problem);
  return response;
}
