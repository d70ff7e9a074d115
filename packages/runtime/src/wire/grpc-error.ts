import { fromBinary, toBinary } from '@bufbuild/protobuf';
import { Metadata, type ServerErrorResponse, type ServiceError, status } from '@grpc/grpc-js';
import { ErrorReason, RuntimeFailureSchema } from '../gen/agentlightning/runtime/v1/error_pb.ts';
import { RuntimeError } from '../runtime-error.ts';
import { fromFailure, toFailure } from './failure.ts';

/** Trailing metadata with a serialised `RuntimeFailure`. */
const trailer = 'agentlightning-error-bin';

/** The gRPC status of each reason, as documented in error.proto. */
const statusOfReason: Readonly<Record<ErrorReason, status>> = {
  [ErrorReason.UNSPECIFIED]: status.UNKNOWN,
  [ErrorReason.INVALID]: status.INVALID_ARGUMENT,
  [ErrorReason.NOT_FOUND]: status.NOT_FOUND,
  [ErrorReason.CONFLICT]: status.ALREADY_EXISTS,
  [ErrorReason.SEQUENCE_REUSED]: status.ALREADY_EXISTS,
  [ErrorReason.SEQUENCE_GAP]: status.OUT_OF_RANGE,
  [ErrorReason.PRECONDITION]: status.FAILED_PRECONDITION,
  [ErrorReason.TOO_LARGE]: status.RESOURCE_EXHAUSTED,
  [ErrorReason.QUEUE_FULL]: status.RESOURCE_EXHAUSTED,
  [ErrorReason.OUT_OF_MEMORY]: status.RESOURCE_EXHAUSTED,
  [ErrorReason.NON_FINITE]: status.ABORTED,
  [ErrorReason.CANCELLED]: status.CANCELLED,
  [ErrorReason.RESULT_EXPIRED]: status.NOT_FOUND,
  [ErrorReason.SESSION_EXPIRED]: status.UNAUTHENTICATED,
  [ErrorReason.SESSION_SUPERSEDED]: status.FAILED_PRECONDITION,
  [ErrorReason.UNAUTHENTICATED]: status.UNAUTHENTICATED,
  [ErrorReason.SHUTTING_DOWN]: status.UNAVAILABLE,
  [ErrorReason.INTERNAL]: status.INTERNAL,
  [ErrorReason.INCOMPLETE]: status.ABORTED,
  [ErrorReason.STALE_WEIGHTS]: status.FAILED_PRECONDITION,
  [ErrorReason.DATA_LOSS]: status.DATA_LOSS,
  [ErrorReason.ENGINE_UNAVAILABLE]: status.UNAVAILABLE,
};

/**
 * Statuses that gRPC sets, without our trailer, when a connection is missing or lost: a stream that is reset in the
 * middle is INTERNAL. The same call may be retried.
 */
const transportStatuses: ReadonlySet<status> = new Set([
  status.UNAVAILABLE,
  status.DEADLINE_EXCEEDED,
  status.UNKNOWN,
  status.CANCELLED,
  status.INTERNAL,
]);

/** Converts any thrown value for grpc-js: status, message and the serialised failure in the trailer. */
export function toServiceError(error: unknown): ServerErrorResponse {
  const failure = toFailure(error);
  const metadata = new Metadata();
  metadata.set(trailer, Buffer.from(toBinary(RuntimeFailureSchema, failure)));
  const serviceError: ServerErrorResponse = Object.assign(new Error(failure.message), {
    code: statusOfReason[failure.reason] ?? status.UNKNOWN,
    details: failure.message,
    metadata,
  });
  return serviceError;
}

/** Converts a failed call: the runtime's error, or a lost connection. */
export type CallFailure =
  | { readonly kind: 'answered'; readonly error: RuntimeError }
  | { readonly kind: 'transport'; readonly error: ServiceError };

/** Distinguishes the runtime's errors from a failed connection. */
export function classifyCallError(error: unknown): CallFailure {
  if (error instanceof RuntimeError) return { kind: 'answered', error };
  if (!isServiceError(error)) {
    return {
      kind: 'answered',
      error: new RuntimeError({ reason: ErrorReason.INTERNAL, message: String(error), cause: error }),
    };
  }
  const [bytes] = error.metadata.get(trailer);
  if (bytes instanceof Uint8Array) {
    return { kind: 'answered', error: fromFailure(fromBinary(RuntimeFailureSchema, bytes)) };
  }
  if (transportStatuses.has(error.code)) return { kind: 'transport', error };
  return {
    kind: 'answered',
    error: new RuntimeError({ reason: reasonOfStatus(error.code), message: error.details, cause: error }),
  };
}

/** For statuses that gRPC sets, such as for a message beyond the limit. */
function reasonOfStatus(code: status): ErrorReason {
  switch (code) {
    case status.RESOURCE_EXHAUSTED:
      return ErrorReason.TOO_LARGE;
    case status.UNAUTHENTICATED:
    case status.PERMISSION_DENIED:
      return ErrorReason.UNAUTHENTICATED;
    case status.UNIMPLEMENTED:
    case status.INVALID_ARGUMENT:
      return ErrorReason.INVALID;
    default:
      return ErrorReason.INTERNAL;
  }
}

function isServiceError(error: unknown): error is ServiceError {
  return error instanceof Error && 'code' in error && 'metadata' in error && error.metadata instanceof Metadata;
}
