import {
  type CapturedAnswer,
  isJsonObject,
  type JsonObject,
  parseJsonObject,
  StreamedMessage,
} from '@agentlightning/core';
import type { GatewayError } from '../gateway-error.ts';
import { type StreamEntry, writeEntry } from '../http/event-stream.ts';
import { type AnswerStream, failureWords, type LastEntry } from '../model-api/answer-stream.ts';
import type { ReadChunk } from './chunk-form.ts';
import { ChunkForms, type KnownForms } from './chunk-forms.ts';
import { parseAnswer } from './parse-answer.ts';
import type { AddedFields } from './prepared-request.ts';
import { isOnlyUsage, visibleAnswer } from './visible-answer.ts';

type EventEntry = Extract<StreamEntry, { readonly kind: 'event' }>;

/** A Chat Completions stream that reaches its client as it is, but for what only the gateway asked for. */
export class ChatStream implements AnswerStream {
  readonly #answer: CapturedAnswer;
  readonly #added: AddedFields;
  readonly #message: StreamedMessage = new StreamedMessage();
  readonly #forms: ChunkForms;
  /** Null when it was parsed. */
  #lastChunk: ReadChunk | null = null;

  /**
   * @param answer - where the tokens are collected
   * @param known - the forms of chunks that streams have had before
   */
  constructor(answer: CapturedAnswer, added: AddedFields, known: KnownForms) {
    this.#answer = answer;
    this.#added = added;
    this.#forms = new ChunkForms(added, known);
  }

  /** An answer without an end mark is whole when every choice says why it ended. */
  get isFinished(): boolean {
    return this.#answer.isFinished;
  }

  take(entry: StreamEntry): string | LastEntry {
    if (entry.kind === 'comment') return writeEntry(entry);
    const { event, data } = entry;
    if (data === endMark) return chatEnd;
    const read = event === undefined ? this.#forms.read(data) : null;
    return read === null ? this.#parse(entry) : this.#add(entry, read);
  }

  broken(error: GatewayError): string {
    return chatErrorEvent(error);
  }

  recorded(): JsonObject {
    return this.#message.toBody();
  }

  #add(entry: EventEntry, read: ReadChunk): string {
    const { form, parts } = read;
    if (this.#lastChunk === null || !goesOn(read, this.#lastChunk)) {
      const empty = form.empty(parts);
      this.#answer.add(empty);
      this.#message.add(visibleAnswer(empty, this.#added));
    }
    this.#lastChunk = read;
    this.#answer.addTokens(form.index, parts);
    if (form.textName !== null) this.#message.addText(form.index, form.textName, parts.text);
    return form.written(parts) ?? writeEntry(entry);
  }

  #parse(entry: EventEntry): string | LastEntry {
    this.#lastChunk = null;
    const chunk = this.#added.logprobs ? parseAnswer(entry.data) : parseJsonObject(entry.data);
    if (chunk === null) return writeEntry(entry);
    if (isJsonObject(chunk.error)) {
      return { kind: 'failure', words: failureWords(chunk.error), text: writeEntry(entry) };
    }
    this.#answer.add(chunk);
    const visible = visibleAnswer(chunk, this.#added);
    this.#message.add(visible);
    if (isOnlyUsage(chunk, this.#added)) return '';
    return visible === chunk ? writeEntry(entry) : writeEntry({ ...entry, data: JSON.stringify(visible) });
  }
}

/** Whether a chunk says nothing that the one before it did not, but for what is new in every chunk. */
function goesOn({ form, parts }: ReadChunk, before: ReadChunk): boolean {
  const { writtenId, writtenCreated, promptTokenIds } = before.parts;
  const isSame = form === before.form && parts.writtenId === writtenId && parts.writtenCreated === writtenCreated;
  return isSame && parts.promptTokenIds.length === 0 && promptTokenIds.length === 0;
}

/** What stands in place of a chunk after the last one. */
export const endMark = '[DONE]';

/** The end of a stream of Chat Completions, or of Completions. */
export const chatEnd: LastEntry = { kind: 'end', text: `data: ${endMark}\n\n` };

/** An error within a stream of Chat Completions, or of Completions. */
export function chatErrorEvent(error: GatewayError): string {
  return `data: ${error.toBody()}\n\n`;
}
