import type { Attributes, JsonObject } from '@agentlightning/core';
import type { GatewayError } from '../gateway-error.ts';
import type { AnswerPlace, ConversationMemory } from '../responses/conversation-memory.ts';

/** An API that the gateway itself speaks, in front of upstreams that only have Chat Completions. */
export interface Translation {
  /** Begins to answer a request. @throws GatewayError 400 for what cannot be had by Chat Completions */
  begin(request: JsonObject, scope: TranslationScope): Promise<TranslatedCall>;
  /** The body of an answer that says why the upstream refused. */
  refusal(status: number, words: string): string;
}

/** Whose call it is; an attempt is one. */
export interface TranslationScope extends AnswerPlace {
  /** What was answered before. */
  readonly conversations: ConversationMemory;
}

/** One call that is translated. */
export interface TranslatedCall {
  /** The request as one of Chat Completions. */
  readonly chatRequest: JsonObject;
  /** The id of the answer, as its client sees it. */
  readonly responseId: string;
  /** What the record of the call has beside what every record has. */
  readonly attributes: Attributes;
  /** The answer in the client's form. */
  whole(chatBody: JsonObject): JsonObject;
  stream(): TranslatedStream;
}

/** The events that a client gets for the chunks of a Chat Completions stream. */
export interface TranslatedStream {
  take(chunk: JsonObject): readonly JsonObject[];
  ending(): readonly JsonObject[];
  broken(error: GatewayError): readonly JsonObject[];
}
