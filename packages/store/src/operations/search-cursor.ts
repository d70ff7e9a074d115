import { ValidationError } from '@agentlightning/core';
import { z } from 'zod';

/** Where a search goes on. */
export interface SearchCursor {
  /** The position of the rollout that was looked at last. */
  readonly position: number;
  /** The span of it that was found last; null when the whole rollout was looked at. */
  readonly span: { readonly sequenceId: number; readonly spanId: string } | null;
}

const cursorSchema = z.union([z.tuple([z.int()]), z.tuple([z.int(), z.int(), z.string()])]);

/** A cursor as clients get it: text without a meaning to them. */
export function searchCursorText({ position, span }: SearchCursor): string {
  const fields = span === null ? [position] : [position, span.sequenceId, span.spanId];
  return Buffer.from(JSON.stringify(fields)).toString('base64url');
}

/**
 * Reads a cursor that a client sends back.
 *
 * @throws ValidationError when it is none of ours
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
