import type { JsonObject, JsonValue } from '@agentlightning/core';
import type { PartHead, PartStep, ResponsePart } from '../response-parts/parts-of-message.ts';
import { firstChoice, ResponseEnd } from '../response-parts/response-end.ts';
import { StreamedParts } from '../response-parts/streamed-parts.ts';
import { isJsonList, objectOf, textOf } from '../wire/json-access.ts';
import { customInputEvents, itemEvents } from './item-events.ts';
import { outputItem, startedItem } from './output-item.ts';
import {
  endedResponse,
  isTruncated,
  newCallIdOf,
  outputOptionsOf,
  type ResponseOptions,
  responseHead,
  wantsLogprobs,
} from './response-body.ts';

/** Converts the chunks of a Chat Completions stream to Responses events, in OpenAI's order. */
export class ResponseEvents {
  readonly #options: ResponseOptions;
  readonly #outputOptions: ReturnType<typeof outputOptionsOf>;
  readonly #parts: StreamedParts;
  readonly #end: ResponseEnd = new ResponseEnd();
  readonly #output: JsonObject[] = [];
  readonly #logprobs: JsonValue[] = [];
  #head: JsonObject | null = null;
  /** The open item. */
  #open: { readonly head: PartHead; readonly id: string } | null = null;
  #sequenceNumber = 0;

  constructor(options: ResponseOptions) {
    this.#options = options;
    this.#outputOptions = outputOptionsOf(options);
    this.#parts = new StreamedParts(newCallIdOf(options.stem));
  }

  /** The events of a chunk. */
  take(chunk: JsonObject): readonly JsonObject[] {
    const choice = firstChoice(chunk);
    this.#end.add(chunk);
    this.#addLogprobs(choice);
    return this.#numbered([...this.#opening(chunk), ...this.#emit(this.#parts.take(objectOf(choice.delta)))]);
  }

  /** The last events of a complete response: those of open items, and the final event. */
  ending(): readonly JsonObject[] {
    const opening = this.#opening({});
    const rest = this.#emit(this.#parts.end());
    // An empty response is an empty message, to keep its position in the conversation.
    const empty = this.#output.length > 0 ? [] : this.#emit(emptyMessage);
    const response = this.response();
    const type = isTruncated(this.#end) ? 'response.incomplete' : 'response.completed';
    return this.#numbered([...opening, ...rest, ...empty, { type, response }]);
  }

  /** The events of a response that breaks off. */
  broken(message: string): readonly JsonObject[] {
    const error = { code: 'server_error', message };
    const response = { ...(this.#head ?? responseHead({}, this.#options)), status: 'failed', error };
    return this.#numbered([
      { type: 'error', ...error, param: null },
      { type: 'response.failed', response: { ...response, output: this.#output } },
    ]);
  }

  /** The response so far. */
  response(): JsonObject {
    return endedResponse(this.#head ?? responseHead({}, this.#options), this.#output, this.#end);
  }

  #opening(chunk: JsonObject): readonly JsonObject[] {
    if (this.#head !== null) return [];
    const response = responseHead(chunk, this.#options);
    this.#head = response;
    return [
      { type: 'response.created', response },
      { type: 'response.in_progress', response },
    ];
  }

  #emit(steps: readonly PartStep[]): readonly JsonObject[] {
    return steps.flatMap((step) => this.#emitStep(step));
  }

  #emitStep(step: PartStep): readonly JsonObject[] {
    const index = this.#output.length;
    if (step.step === 'extend') {
      if (this.#open === null || this.#isCustom(this.#open.head)) return [];
      return placed(itemEvents.extended(this.#open.head, step.text), this.#open.id, index);
    }
    const options = { ...this.#outputOptions, index };
    if (step.step === 'begin') {
      const item = startedItem(step.head, options);
      const id = textOf(item.id) ?? '';
      this.#open = { head: step.head, id };
      const added = { type: 'response.output_item.added', output_index: index, item };
      return [added, ...placed(itemEvents.begun(step.head), id, index)];
    }
    const item = outputItem(step.part, { ...options, isTruncated: isTruncated(this.#end), logprobs: this.#logprobs });
    this.#output.push(item);
    this.#open = null;
    const done = { type: 'response.output_item.done', output_index: index, item };
    // The input is a text within the arguments, which are complete only now.
    const ended = this.#isCustom(step.part)
      ? customInputEvents(textOf(item.input) ?? '')
      : itemEvents.ended(withName(step.part, item), this.#logprobs);
    return [...placed(ended, textOf(item.id) ?? '', index), done];
  }

  #isCustom(head: PartHead): boolean {
    return head.kind === 'call' && this.#outputOptions.tools.get(head.name)?.isCustom === true;
  }

  #addLogprobs(choice: JsonObject): void {
    const { content } = objectOf(choice.logprobs);
    if (isJsonList(content) && wantsLogprobs(this.#options.request)) this.#logprobs.push(...content);
  }

  #numbered(events: readonly JsonObject[]): readonly JsonObject[] {
    const first = this.#sequenceNumber;
    this.#sequenceNumber += events.length;
    return events.map((event, index) => ({ ...event, sequence_number: first + index }));
  }
}

const emptyMessage: readonly PartStep[] = [
  { step: 'begin', head: { kind: 'text' } },
  { step: 'end', part: { kind: 'text', text: '' } },
];

function placed(events: readonly JsonObject[], id: string, index: number): readonly JsonObject[] {
  return events.map((event) => ({ ...event, item_id: id, output_index: index }));
}

/** A tool call by the name that the client knows. */
function withName(part: ResponsePart, { name }: JsonObject): ResponsePart {
  return part.kind === 'call' ? { ...part, name: textOf(name) ?? part.name } : part;
}
