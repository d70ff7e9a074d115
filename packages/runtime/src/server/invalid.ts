import { ErrorReason } from '../gen/agentlightning/runtime/v1/error_pb.ts';
import { RuntimeError } from '../runtime-error.ts';

/** The error for a wrong value: which field, what is wrong with it, and in which datum. */
export function invalid(field: string, message: string, datumIndex?: number): RuntimeError {
  const where = datumIndex === undefined ? field : `data[${datumIndex}].${field}`;
  return new RuntimeError({
    reason: ErrorReason.INVALID,
    message: `${where} ${message}`,
    field,
    datumIndex,
  });
}

/** Checks an id or name that clients choose. */
export function assertName(field: string, value: string): void {
  if (/^[A-Za-z0-9_-]{1,255}$/.test(value)) return;
  throw invalid(field, `is "${value.slice(0, 80)}"; it must be 1 to 255 of A-Z a-z 0-9 _ -`);
}
