import type { JsonObject } from '@agentlightning/core';
import type { CapturedResponse } from '@agentlightning/core/internal';
import type { AddedFields, PreparedRequest, PrepareOptions } from './prepared-request.ts';
import type { StreamConverter } from './stream-converter.ts';

/** A model API of upstreams: request format and response parsing. */
export interface UpstreamApi {
  /** Below an upstream's base URL. */
  readonly path: string;
  /** The request to the upstream. */
  prepare(request: JsonObject, options: PrepareOptions): PreparedRequest;
  /** A whole body in the API's own form, for upstreams that deviate from it. @throws GatewayError 502 for one that makes no sense */
  standard(body: JsonObject): JsonObject;
  /** Reads the token data of a whole body. */
  capture(body: JsonObject, captured: CapturedResponse): void;
  /** A whole body without the fields that only the gateway requested; the same object without such fields. */
  visible(body: JsonObject, added: AddedFields): JsonObject;
  /** A whole body, without added fields, as a stream; absent where upstreams are expected to stream. */
  streamOfWhole?(visible: JsonObject, added: AddedFields): string;
  /** Converts a stream and captures its token data. */
  stream(captured: CapturedResponse, added: AddedFields): StreamConverter;
}
