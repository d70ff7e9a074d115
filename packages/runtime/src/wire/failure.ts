import { AgentLightningError, type ErrorCode } from '@agentlightning/core';
import { errorMessage } from '@agentlightning/core/internal';
import { create } from '@bufbuild/protobuf';
import {
  ErrorCategory,
  ErrorReason,
  type RuntimeFailure,
  RuntimeFailureSchema,
} from '../gen/agentlightning/runtime/v1/error_pb.ts';
import { type MemoryShortage, RuntimeError, type Staleness } from '../runtime-error.ts';
import { toWeightProbe } from './published-weights.ts';

/** The contract's reason of each error code of an engine. Others are `INTERNAL`. */
const reasonOfCode: Partial<Record<ErrorCode, ErrorReason>> = {
  VALIDATION: ErrorReason.INVALID,
  RUNTIME_REJECTED: ErrorReason.INVALID,
  NOT_FOUND: ErrorReason.NOT_FOUND,
  CONFLICT: ErrorReason.CONFLICT,
  PRECONDITION_FAILED: ErrorReason.PRECONDITION,
  PAYLOAD_TOO_LARGE: ErrorReason.TOO_LARGE,
  RESOURCE_EXHAUSTED: ErrorReason.OUT_OF_MEMORY,
  NON_FINITE: ErrorReason.NON_FINITE,
  CANCELLED: ErrorReason.CANCELLED,
  UNAUTHENTICATED: ErrorReason.UNAUTHENTICATED,
  WEIGHT_MISMATCH: ErrorReason.WEIGHT_MISMATCH,
};

/** Converts any thrown value to a message of the contract. */
export function toFailure(error: unknown): RuntimeFailure {
  const known = toRuntimeError(error);
  const { memory, staleness, probe } = known;
  return create(RuntimeFailureSchema, {
    reason: known.reason,
    message: plainMessage(known),
    field: known.field ?? '',
    ...(known.datumIndex === undefined ? {} : { datumIndex: known.datumIndex }),
    ...(known.nextSequence === undefined ? {} : { nextSeq: known.nextSequence }),
    ...(known.retryAfterMs === undefined ? {} : { retryAfterMs: known.retryAfterMs }),
    gradientsDiscarded: known.gradientsDiscarded,
    category: known.category === 'user' ? ErrorCategory.USER : ErrorCategory.SERVER,
    remedy: known.remedy,
    ...(memory === undefined ? {} : { numTokens: memory.tokens, maxTokensSeenOk: memory.maxTokensSeenOk }),
    ...staleness,
    ...(probe === undefined ? {} : { weightProbe: { ...probe } }),
  });
}

/** Converts a message of the contract to the error of the caller. */
export function fromFailure(failure: RuntimeFailure): RuntimeError {
  return new RuntimeError({
    reason: failure.reason,
    message: failure.message,
    field: failure.field === '' ? undefined : failure.field,
    datumIndex: failure.datumIndex,
    nextSequence: failure.nextSeq,
    retryAfterMs: failure.retryAfterMs,
    gradientsDiscarded: failure.gradientsDiscarded,
    memory: memoryOf(failure),
    staleness: stalenessOf(failure),
    probe: failure.weightProbe && toWeightProbe(failure.weightProbe),
    remedy: failure.remedy === '' ? undefined : failure.remedy,
  });
}

function memoryOf({ numTokens, maxTokensSeenOk = 0 }: RuntimeFailure): MemoryShortage | undefined {
  return numTokens === undefined ? undefined : { tokens: numTokens, maxTokensSeenOk };
}

function stalenessOf({ versionLag, maxVersionLag = 0 }: RuntimeFailure): Staleness | undefined {
  return versionLag === undefined ? undefined : { versionLag, maxVersionLag };
}

/** Converts any thrown value to a {@link RuntimeError}; an unexpected one is an internal error. */
function toRuntimeError(error: unknown): RuntimeError {
  if (error instanceof RuntimeError) return error;
  if (AgentLightningError.isInstance(error)) {
    const { field, datumIndex, tokens, maxTokensSeenOk } = error.details;
    return new RuntimeError({
      reason: reasonOfCode[error.code] ?? ErrorReason.INTERNAL,
      message: plainMessage(error),
      field: typeof field === 'string' ? field : undefined,
      datumIndex: typeof datumIndex === 'number' ? datumIndex : undefined,
      memory:
        typeof tokens === 'number'
          ? { tokens, maxTokensSeenOk: typeof maxTokensSeenOk === 'number' ? maxTokensSeenOk : 0 }
          : undefined,
      remedy: error.remedy,
      cause: error,
    });
  }
  const message = errorMessage(error);
  return new RuntimeError({ reason: ErrorReason.INTERNAL, message, cause: error });
}

/** The message without the code prefix, which the error class adds again. */
function plainMessage(error: AgentLightningError): string {
  const prefix = `[${error.code}] `;
  return error.message.startsWith(prefix) ? error.message.slice(prefix.length) : error.message;
}
