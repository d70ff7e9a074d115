import type { JsonObject } from '@agentlightning/core';
import type { CapturedAnswer } from '@agentlightning/core/internal';
import type { AddedFields, PreparedRequest, PrepareOptions } from '../chat-completions/prepared-request.ts';
import type { GatewayError } from '../gateway-error.ts';
import type { StreamConverter } from './stream-converter.ts';

/** A model API as upstreams have it: how requests go there, and what its answers tell. */
export interface UpstreamApi {
  /** Below an upstream's base URL. */
  readonly path: string;
  /** A request as it goes to the upstream. */
  prepare(request: JsonObject, options: PrepareOptions): PreparedRequest;
  /** Collects what a whole body says about its tokens. */
  capture(body: JsonObject, answer: CapturedAnswer): void;
  /** A whole body without what only the gateway asked for; the same object where that is nothing. */
  visible(body: JsonObject, added: AddedFields): JsonObject;
  /** A stream that is captured. */
  stream(answer: CapturedAnswer, added: AddedFields): StreamConverter;
  /** The error at the end of a stream that was passed on unread; null when none is, as it needs what came before. */
  readonly errorEvent: ((error: GatewayError) => string) | null;
}
