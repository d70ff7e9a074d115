import { Code, ConnectError, decodeBinaryHeader, encodeBinaryHeader } from '@connectrpc/connect';
import { ErrorReason, RuntimeFailureSchema } from '../gen/agentlightning/runtime/v1/error_pb.ts';
import { RuntimeError } from '../runtime-error.ts';
import { fromFailure, toFailure } from './failure.ts';

/** Trailing metadata with a serialised `RuntimeFailure`. */
const trailer = 'agentlightning-error-bin';

/** The gRPC status of each reason, as documented in error.proto. */
const statusOfReason: Readonly<Record<ErrorReason, Code>> = {
  [ErrorReason.UNSPECIFIED]: Code.Unknown,
  [ErrorReason.INVALID]: Code.InvalidArgument,
  [ErrorReason.NOT_FOUND]: Code.NotFound,
  [ErrorReason.CONFLICT]: Code.AlreadyExists,
  [ErrorReason.SEQUENCE_REUSED]: Code.AlreadyExists,
  [ErrorReason.SEQUENCE_GAP]: Code.OutOfRange,
  [ErrorReason.PRECONDITION]: Code.FailedPrecondition,
  [ErrorReason.TOO_LARGE]: Code.ResourceExhausted,
  [ErrorReason.QUEUE_FULL]: Code.ResourceExhausted,
  [ErrorReason.OUT_OF_MEMORY]: Code.ResourceExhausted,
  [ErrorReason.NON_FINITE]: Code.Aborted,
  [ErrorReason.CANCELLED]: Code.Canceled,
  [ErrorReason.RESULT_EXPIRED]: Code.NotFound,
  [ErrorReason.SESSION_EXPIRED]: Code.Unauthenticated,
  [ErrorReason.SESSION_SUPERSEDED]: Code.FailedPrecondition,
  [ErrorReason.UNAUTHENTICATED]: Code.Unauthenticated,
  [ErrorReason.SHUTTING_DOWN]: Code.Unavailable,
  [ErrorReason.INTERNAL]: Code.Internal,
  [ErrorReason.INCOMPLETE]: Code.Aborted,
  [ErrorReason.STALE_WEIGHTS]: Code.FailedPrecondition,
  [ErrorReason.DATA_LOSS]: Code.DataLoss,
  [ErrorReason.ENGINE_UNAVAILABLE]: Code.Unavailable,
  [ErrorReason.WEIGHT_MISMATCH]: Code.Internal,
};

/**
 * Codes of calls without our trailer whose connection is missing or lost: a stream that is reset in the middle is
 * INTERNAL or ABORTED. The same call may be retried.
 */
const transportStatuses: ReadonlySet<Code> = new Set([
  Code.Unavailable,
  Code.DeadlineExceeded,
  Code.Unknown,
  Code.Canceled,
  Code.Internal,
  Code.Aborted,
]);

/** Converts any thrown value: status, message and the serialised failure in the trailer. */
export function toConnectError(error: unknown): ConnectError {
  // Raised by the protocol, such as for a message beyond the limit.
  if (error instanceof ConnectError) return error;
  const failure = toFailure(error);
  const metadata = { [trailer]: encodeBinaryHeader(failure, RuntimeFailureSchema) };
  return new ConnectError(failure.message, statusOfReason[failure.reason] ?? Code.Unknown, metadata);
}

/** A failed call: the runtime's error, or a lost connection. */
export type CallFailure =
  | { readonly kind: 'runtime'; readonly error: RuntimeError }
  | { readonly kind: 'transport'; readonly error: ConnectError };

/** Distinguishes the runtime's errors from a failed connection. */
export function classifyCallError(error: unknown): CallFailure {
  if (error instanceof RuntimeError) return { kind: 'runtime', error };
  if (!(error instanceof ConnectError)) {
    return {
      kind: 'runtime',
      error: new RuntimeError({ reason: ErrorReason.INTERNAL, message: String(error), cause: error }),
    };
  }
  const failure = error.metadata.get(trailer);
  if (failure !== null) {
    return { kind: 'runtime', error: fromFailure(decodeBinaryHeader(failure, RuntimeFailureSchema)) };
  }
  if (transportStatuses.has(error.code)) return { kind: 'transport', error };
  return {
    kind: 'runtime',
    error: new RuntimeError({ reason: reasonOfStatus(error.code), message: error.rawMessage, cause: error }),
  };
}

/** For statuses that gRPC sets, such as for a message beyond the limit. */
function reasonOfStatus(code: Code): ErrorReason {
  switch (code) {
    case Code.ResourceExhausted:
      return ErrorReason.TOO_LARGE;
    case Code.Unauthenticated:
    case Code.PermissionDenied:
      return ErrorReason.UNAUTHENTICATED;
    case Code.Unimplemented:
    case Code.InvalidArgument:
      return ErrorReason.INVALID;
    default:
      return ErrorReason.INTERNAL;
  }
}
