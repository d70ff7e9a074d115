import { AgentLightningError, type ErrorCode } from '@agentlightning/core';
import type { WeightProbe } from '@agentlightning/core/training-runtime';
import { ErrorReason } from './gen/agentlightning/runtime/v1/error_pb.ts';

/** The error code of each reason of the contract. */
const codeOfReason: Readonly<Record<ErrorReason, ErrorCode>> = {
  [ErrorReason.UNSPECIFIED]: 'INTERNAL',
  [ErrorReason.INVALID]: 'RUNTIME_REJECTED',
  [ErrorReason.NOT_FOUND]: 'NOT_FOUND',
  [ErrorReason.CONFLICT]: 'CONFLICT',
  [ErrorReason.SEQUENCE_REUSED]: 'SEQUENCE_REUSED',
  [ErrorReason.SEQUENCE_GAP]: 'SEQUENCE_GAP',
  [ErrorReason.PRECONDITION]: 'PRECONDITION_FAILED',
  [ErrorReason.TOO_LARGE]: 'PAYLOAD_TOO_LARGE',
  [ErrorReason.QUEUE_FULL]: 'RESOURCE_EXHAUSTED',
  [ErrorReason.OUT_OF_MEMORY]: 'RESOURCE_EXHAUSTED',
  [ErrorReason.NON_FINITE]: 'NON_FINITE',
  [ErrorReason.CANCELLED]: 'CANCELLED',
  [ErrorReason.RESULT_EXPIRED]: 'NOT_FOUND',
  [ErrorReason.SESSION_EXPIRED]: 'RUNTIME_UNAVAILABLE',
  [ErrorReason.SESSION_SUPERSEDED]: 'PRECONDITION_FAILED',
  [ErrorReason.UNAUTHENTICATED]: 'UNAUTHENTICATED',
  [ErrorReason.SHUTTING_DOWN]: 'RUNTIME_UNAVAILABLE',
  [ErrorReason.INTERNAL]: 'INTERNAL',
  [ErrorReason.INCOMPLETE]: 'RUNTIME_UNAVAILABLE',
  [ErrorReason.STALE_WEIGHTS]: 'PRECONDITION_FAILED',
  [ErrorReason.DATA_LOSS]: 'PRECONDITION_FAILED',
  [ErrorReason.ENGINE_UNAVAILABLE]: 'RUNTIME_UNAVAILABLE',
  [ErrorReason.WEIGHT_MISMATCH]: 'WEIGHT_MISMATCH',
};

/** Remedies of failures for which the catalogue's remedy does not fit. */
const remedyOf: Partial<Record<ErrorReason, string>> = {
  [ErrorReason.OUT_OF_MEMORY]: 'Split the batch; gradients of several batches add up before a step.',
  [ErrorReason.RESULT_EXPIRED]: 'Fetch results within `resultTtlMs`.',
  [ErrorReason.SESSION_EXPIRED]: 'Connect again and load the last checkpoint.',
  [ErrorReason.STALE_WEIGHTS]: 'Drop these data and sample again with the current weights.',
  [ErrorReason.DATA_LOSS]: 'Load a checkpoint.',
  [ErrorReason.ENGINE_UNAVAILABLE]: 'Send the same request again after `retryAfterMs`.',
};

/** Failures not caused by the caller. */
const serverReasons: ReadonlySet<ErrorReason> = new Set([
  ErrorReason.UNSPECIFIED,
  ErrorReason.QUEUE_FULL,
  ErrorReason.OUT_OF_MEMORY,
  ErrorReason.SHUTTING_DOWN,
  ErrorReason.INTERNAL,
  ErrorReason.INCOMPLETE,
  ErrorReason.DATA_LOSS,
  ErrorReason.ENGINE_UNAVAILABLE,
  ErrorReason.WEIGHT_MISMATCH,
]);

/** Memory use at the time of a failure. */
export interface MemoryShortage {
  /** Tokens in the pass that ran out of memory. */
  readonly tokens: number;
  /** Largest number of tokens that succeeded so far; 0 when unknown. */
  readonly maxTokensSeenOk: number;
}

/** Age of stale data in policy versions, and its limit. */
export interface Staleness {
  readonly versionLag: number;
  readonly maxVersionLag: number;
}

/** Fields of a {@link RuntimeError}. */
export interface RuntimeErrorOptions {
  /** The contract's failure reason; it determines the error's code. */
  readonly reason: ErrorReason;
  /** Description, with the offending value. */
  readonly message: string;
  /** Path of the invalid field. */
  readonly field?: string | undefined;
  /** Index of the invalid datum in its batch, from 0. */
  readonly datumIndex?: number | undefined;
  /** The sequence number that the model expects next. */
  readonly nextSequence?: number | undefined;
  /** Retry delay in milliseconds. */
  readonly retryAfterMs?: number | undefined;
  /** True when accumulated gradients were discarded because of it. */
  readonly gradientsDiscarded?: boolean | undefined;
  /** Memory use, with the reason `OUT_OF_MEMORY`. */
  readonly memory?: MemoryShortage | undefined;
  /** Age of the data, with the reason `STALE_WEIGHTS`. */
  readonly staleness?: Staleness | undefined;
  /** Comparison of sampler and trainer, with the reason `WEIGHT_MISMATCH`. */
  readonly probe?: WeightProbe | undefined;
  readonly remedy?: string | undefined;
  readonly cause?: unknown;
}

/**
 * Thrown when a training runtime refuses or fails a call, or cannot be reached. `code` is the kind; `field` and
 * `datumIndex` locate the invalid input.
 */
export class RuntimeError extends AgentLightningError {
  /** The contract's reason. */
  readonly reason: ErrorReason;
  /** Path of the invalid field, such as `trained[1].end`. */
  readonly field: string | undefined;
  /** Index of the invalid datum in its batch, from 0. */
  readonly datumIndex: number | undefined;
  /** The sequence number that the model expects next. */
  readonly nextSequence: number | undefined;
  /** Delay after which the same request may be retried, in milliseconds. */
  readonly retryAfterMs: number | undefined;
  /** True when accumulated gradients were discarded because of it. */
  readonly gradientsDiscarded: boolean;
  /** Memory use, with the reason `OUT_OF_MEMORY`. */
  readonly memory: MemoryShortage | undefined;
  /** Age of the data, with the reason `STALE_WEIGHTS`. */
  readonly staleness: Staleness | undefined;
  /** Comparison of sampler and trainer, with the reason `WEIGHT_MISMATCH`. */
  readonly probe: WeightProbe | undefined;
  /** The party that caused it: the same request of `user` fails again. */
  readonly category: 'user' | 'server';

  constructor(options: RuntimeErrorOptions) {
    const { reason, message, field, datumIndex, nextSequence, retryAfterMs, cause } = options;
    const { memory, staleness, probe, remedy = remedyOf[reason] } = options;
    super({
      code: codeOfReason[reason] ?? 'INTERNAL',
      message,
      cause,
      details: definedOnly({ field, datumIndex, nextSequence, retryAfterMs, ...memory, ...staleness, ...probe }),
      ...(remedy === undefined ? {} : { remedy }),
    });
    this.reason = reason;
    this.field = field;
    this.datumIndex = datumIndex;
    this.nextSequence = nextSequence;
    this.retryAfterMs = retryAfterMs;
    this.gradientsDiscarded = options.gradientsDiscarded ?? false;
    this.memory = memory;
    this.staleness = staleness;
    this.probe = probe;
    this.category = serverReasons.has(reason) ? 'server' : 'user';
  }
}

function definedOnly(details: Readonly<Record<string, unknown>>): Record<string, unknown> {
  return Object.fromEntries(Object.entries(details).filter(([, value]) => value !== undefined));
}
