import { hash } from 'node:crypto';
import { isWireSpan, spanInputFromWire, type WireSpan, wireSpanBatchSchema } from '@agentlightning/core/protocol';
import { type SpanRow, spanRow } from '../../span-row.ts';
import { MalformedRequestError } from '../malformed-request-error.ts';
import { parseRequest } from '../request-body.ts';
import { plainSpanRows } from './plain-span-rows.ts';
import type { BodyPieces } from './read-pieces.ts';
import { textOf } from './text-of-pieces.ts';

/** A request that records several spans, as it came. */
export interface EncodedSpanBatch {
  readonly pieces: BodyPieces;
  /** What its fingerprint begins with; null when it needs none. */
  readonly hashPrefix: string | null;
}

/** A request that records several spans, ready to be written. */
export interface DecodedSpanBatch {
  readonly rows: readonly SpanRow[];
  /** The request's fingerprint; null when it needs none. */
  readonly requestHash: string | null;
}

/**
 * Reads the body of a request that records several spans.
 *
 * @throws MalformedRequestError when it is no JSON or does not have the shape
 */
export function decodeSpanBatch({ pieces, hashPrefix }: EncodedSpanBatch): DecodedSpanBatch {
  const text = textOf(pieces);
  const rows = plainSpanRows(text) ?? spansOf(text).map((wire) => spanRow(spanInputFromWire(wire)));
  return { rows, requestHash: hashPrefix === null ? null : hash('sha256', hashPrefix + text, 'base64url') };
}

function spansOf(text: string): readonly WireSpan[] {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (cause) {
    const reason = cause instanceof Error ? cause.message : String(cause);
    throw new MalformedRequestError([{ path: '', message: `body is not JSON: ${reason}` }], cause);
  }
  if (isSpanBatch(value)) return value.spans;
  // What is wrong is for the schema to say.
  return parseRequest(wireSpanBatchSchema, value).spans;
}

function isSpanBatch(value: unknown): value is { readonly spans: readonly WireSpan[] } {
  return (
    typeof value === 'object' &&
    value !== null &&
    'spans' in value &&
    Array.isArray(value.spans) &&
    value.spans.every(isWireSpan)
  );
}
