import { AgentLightningError, type ErrorCode } from '@agentlightning/core';
import { ErrorReason } from './gen/agentlightning/runtime/v1/error_pb.ts';

/** The error code that each reason of the contract becomes. */
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
};

/** What to do about those failures that the catalogue's remedy for the code does not fit. */
const remedyOf: Partial<Record<ErrorReason, string>> = {
  [ErrorReason.OUT_OF_MEMORY]: 'Send the batch in smaller pieces; their gradients add up before a step.',
  [ErrorReason.RESULT_EXPIRED]: 'Ask sooner: results are kept for `resultTtlMs`.',
  [ErrorReason.SESSION_EXPIRED]: 'Connect again and load the last checkpoint.',
  [ErrorReason.STALE_WEIGHTS]: 'Drop these data and sample again with the weights of now.',
  [ErrorReason.DATA_LOSS]: 'Load a checkpoint.',
  [ErrorReason.ENGINE_UNAVAILABLE]: 'Send the same request again after `retryAfterMs`.',
};

/** Failures that are not the caller's. */
const serverReasons: ReadonlySet<ErrorReason> = new Set([
  ErrorReason.UNSPECIFIED,
  ErrorReason.QUEUE_FULL,
  ErrorReason.OUT_OF_MEMORY,
  ErrorReason.SHUTTING_DOWN,
  ErrorReason.INTERNAL,
  ErrorReason.INCOMPLETE,
  ErrorReason.DATA_LOSS,
  ErrorReason.ENGINE_UNAVAILABLE,
]);

/** How far memory has sufficed. */
export interface MemoryShortage {
  /** Tokens in hand when memory ran out. */
  readonly tokens: number;
  /** The most tokens that have fitted so far; 0 when none have. */
  readonly maxTokensSeenOk: number;
}

/** How many policy versions old data are, and may be. */
export interface Staleness {
  readonly versionLag: number;
  readonly maxVersionLag: number;
}

/** What a {@link RuntimeError} is made of. */
export interface RuntimeErrorOptions {
  /** Which kind of failure the contract calls it; the error's code follows from it. */
  readonly reason: ErrorReason;
  /** What happened, with the offending value. */
  readonly message: string;
  /** Path of the wrong field. */
  readonly field?: string | undefined;
  /** Index of the wrong datum in its batch, from 0. */
  readonly datumIndex?: number | undefined;
  /** The sequence number that the model expects next. */
  readonly nextSequence?: number | undefined;
  /** How long to wait before trying again, in milliseconds. */
  readonly retryAfterMs?: number | undefined;
  /** True when accumulated gradients were dropped because of this. */
  readonly gradientsDiscarded?: boolean | undefined;
  /** Where memory ran out. */
  readonly memory?: MemoryShortage | undefined;
  /** How old the data are. */
  readonly staleness?: Staleness | undefined;
  readonly remedy?: string | undefined;
  readonly cause?: unknown;
}

/**
 * Thrown when a training runtime refuses or fails something, or cannot be reached. `code` says which
 * kind; `field` and `datumIndex` say where in the input.
 */
export class RuntimeError extends AgentLightningError {
  /** The contract's name for it. */
  readonly reason: ErrorReason;
  /** Path of the wrong field, such as `trained[1].end`. */
  readonly field: string | undefined;
  /** Index of the wrong datum in its batch, from 0. */
  readonly datumIndex: number | undefined;
  /** The sequence number that the model expects next. */
  readonly nextSequence: number | undefined;
  /** How long to wait before the same request may be tried again, in milliseconds. */
  readonly retryAfterMs: number | undefined;
  /** True when accumulated gradients were dropped because of this. */
  readonly gradientsDiscarded: boolean;
  /** Where memory ran out; with the reason `OUT_OF_MEMORY`. */
  readonly memory: MemoryShortage | undefined;
  /** How old the data are; with the reason `STALE_WEIGHTS`. */
  readonly staleness: Staleness | undefined;
  /** Whose fault it is: the same request of `user` fails again. */
  readonly category: 'user' | 'server';

  constructor(options: RuntimeErrorOptions) {
    const { reason, message, field, datumIndex, nextSequence, retryAfterMs, cause } = options;
    const { memory, staleness, remedy = remedyOf[reason] } = options;
    super({
      code: codeOfReason[reason] ?? 'INTERNAL',
      message,
      cause,
      details: definedOnly({ field, datumIndex, nextSequence, retryAfterMs, ...memory, ...staleness }),
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
    this.category = serverReasons.has(reason) ? 'server' : 'user';
  }
}

function definedOnly(details: Readonly<Record<string, unknown>>): Record<string, unknown> {
  return Object.fromEntries(Object.entries(details).filter(([, value]) => value !== undefined));
}
