import type { Attributes, JsonObject } from '@agentlightning/core';
import type { GatewayError } from '../gateway-error.ts';
import type { ConversationMemory, ResponseContext } from '../responses/conversation-memory.ts';

/** An API that the gateway translates to Chat Completions. */
export interface Translation {
  /** Translates a request. @throws GatewayError 400 for features that Chat Completions lack */
  begin(request: JsonObject, scope: TranslationScope): Promise<TranslatedCall>;
  /** The body of an error response. */
  errorBody(status: number, message: string): string;
}

/** The caller and its memory. */
export interface TranslationScope extends ResponseContext {
  /** Earlier responses. */
  readonly conversations: ConversationMemory;
}

/** A translated call. */
export interface TranslatedCall {
  /** The Chat Completions request. */
  readonly chatRequest: JsonObject;
  /** What Chat Completions could not carry and was left out or replaced, for the record. */
  readonly changes: readonly string[];
  /** Response id as returned to the client. */
  readonly responseId: string;
  /** Additional span attributes. */
  readonly attributes: Attributes;
  /** Translates a whole response. */
  whole(chatBody: JsonObject): JsonObject;
  stream(): TranslatedStream;
}

/** Converts the chunks of a Chat Completions stream to the client's events. */
export interface TranslatedStream {
  take(chunk: JsonObject): readonly JsonObject[];
  ending(): readonly JsonObject[];
  broken(error: GatewayError): readonly JsonObject[];
}
