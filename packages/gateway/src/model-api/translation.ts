import type { Attributes, JsonObject, JsonValue } from '@agentlightning/core';
import type { GatewayError } from '../wire/gateway-error.ts';

/** An API that the gateway translates to Chat Completions. */
export interface Translation {
  /** Translates a request. @throws GatewayError 400 for features that Chat Completions lack */
  begin(request: JsonObject, scope: TranslationScope): Promise<TranslatedCall>;
  /** The body of an error response. */
  errorBody(status: number, message: string): string;
}

/** A request's conversation, with references resolved. */
export interface Conversation {
  /** Earlier chat messages. */
  readonly before: readonly JsonObject[];
  /** The Responses items that follow. */
  readonly items: readonly JsonObject[];
}

/** The key of a response. */
export interface ResponseContext {
  /** Responses are visible within one attempt only; null for a call that is not recorded. */
  readonly attempt: { readonly rolloutId: string; readonly attemptId: string } | null;
  /** Common stem of its ids, which ends with the span id. */
  readonly stem: string;
  /** Length of its request, in characters. */
  readonly requestLength: number;
}

/** The responses of earlier calls, which a request can continue or reference by their ids. */
export interface ConversationMemory {
  /** Stores a response with its conversation. */
  remember(context: ResponseContext, conversation: Conversation, output: JsonValue | undefined): void;
  /**
   * Resolves a request: prepends the response that it continues and its conversation, and replaces item references.
   *
   * @throws GatewayError 400 when a response is not known
   */
  complete(request: JsonObject, items: readonly JsonObject[], context: ResponseContext): Promise<Conversation>;
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
