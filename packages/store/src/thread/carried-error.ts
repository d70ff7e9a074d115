import { AgentLightningError } from '@agentlightning/core';
import { errorFromWire, errorToWire, type WireErrorBody } from '@agentlightning/core/protocol';

/** An error as it crosses: a copy as threads make it keeps neither its class nor its code. */
export interface CarriedError {
  /** One of ours; null for what is none. */
  readonly known: WireErrorBody | null;
  readonly plain: PlainError;
  readonly cause: PlainError | null;
}

interface PlainError {
  readonly name: string;
  readonly message: string;
  readonly stack: string;
}

/** Packs an error. */
export function carryError(error: unknown): CarriedError {
  const known = AgentLightningError.isInstance(error) ? errorToWire(error) : null;
  const cause = error instanceof Error && error.cause instanceof Error ? plainOf(error.cause) : null;
  return { known, plain: plainOf(error), cause };
}

/** The error that was packed: of ours the very class, of others the name, the message and where it came from. */
export function errorFromCarried({ known, plain, cause }: CarriedError): Error {
  const error = known === null ? errorOf(plain) : errorFromWire(500, known);
  if (cause !== null) error.cause = errorOf(cause);
  return error;
}

function plainOf(error: unknown): PlainError {
  if (!(error instanceof Error)) return { name: 'Error', message: String(error), stack: '' };
  const { name, message, stack = '' } = error;
  return { name, message, stack };
}

function errorOf({ name, message, stack }: PlainError): Error {
  const error = new Error(message);
  error.name = name;
  if (stack !== '') error.stack = stack;
  return error;
}
