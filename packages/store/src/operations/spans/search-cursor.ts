import { ValidationError } from '@agentlightning/core';
import { z } from 'zod';

/** The position at which a search resumes. */
export interface SearchCursor {
  /** Position of the last scanned rollout. */
  readonly position: number;
  /** Its last returned span; null when the rollout was scanned completely. */
  readonly span: { readonly sequenceId: number; readonly spanId: string } | null;
}

const cursorSchema = z.union([z.tuple([z.int()]), z.tuple([z.int(), z.int(), z.string()])]);

/** Encodes a cursor as opaque text. */
export function searchCursorText({ position, span }: SearchCursor): string {
  const fields = span === null ? [position] : [position, span.sequenceId, span.spanId];
  return Buffer.from(JSON.stringify(fields)).toString('base64url');
}

/**
 * Parses a cursor from a client.
 *
 * @throws ValidationError when it is invalid
 */
export function parseSearchCursor(text: string): SearchCursor {
  const parsed = cursorSchema.safeParse(fieldsOf(text));
  if (!parsed.success) {
    const message = `${JSON.stringify(text.slice(0, 80))} is not the nextCursor of a search`;
    throw new ValidationError('Search', [{ path: 'cursor', message }], parsed.error);
  }
  const [position, sequenceId, spanId] = parsed.data;
  return { position, span: sequenceId === undefined || spanId === undefined ? null : { sequenceId, spanId } };
}

function fieldsOf(text: string): unknown {
  try {
    return JSON.parse(Buffer.from(text, 'base64url').toString());
  } catch {
    return null;
  }
}
