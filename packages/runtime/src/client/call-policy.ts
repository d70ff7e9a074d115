import { AgentLightningError, type Clock } from '@agentlightning/core';
import { ErrorReason } from '../gen/agentlightning/runtime/v1/error_pb.ts';
import { classifyCallError } from '../wire/grpc-error.ts';

/** How long a client goes on trying. */
export interface CallPolicyOptions {
  /** Where the runtime should be; for messages. */
  readonly address: string;
  readonly clock: Clock;
  /** For how long a lost connection is tried again, in milliseconds. */
  readonly reconnectTimeoutMs: number;
  /** Ends every waiting. */
  readonly signal: AbortSignal;
}

const firstPauseMs = 50;
const longestPauseMs = 1_000;

/** Refusals that are over after a while, for as long as the runtime asks to wait. */
const passingReasons: ReadonlySet<ErrorReason> = new Set([ErrorReason.QUEUE_FULL, ErrorReason.ENGINE_UNAVAILABLE]);

/**
 * Repeats calls: over a lost connection for a bounded time, on a full queue for as long as the runtime
 * asks. Every call of the contract may be repeated.
 */
export class CallPolicy {
  readonly #options: CallPolicyOptions;

  constructor(options: CallPolicyOptions) {
    this.#options = options;
  }

  /** @throws RuntimeError what the runtime answered
   * @throws AgentLightningError RUNTIME_UNAVAILABLE when it cannot be reached */
  async run<TResult>(call: () => Promise<TResult>): Promise<TResult> {
    const { clock, signal } = this.#options;
    const outage = this.outage();
    for (;;) {
      try {
        return await call();
      } catch (error) {
        if (signal.aborted) throw signal.reason;
        // Thrown on this side: somebody else has found out already.
        if (AgentLightningError.isInstance(error)) throw error;
        const failure = classifyCallError(error);
        if (failure.kind === 'transport' || failure.error.reason === ErrorReason.INCOMPLETE) {
          await outage.pause(failure.error);
          continue;
        }
        if (!passingReasons.has(failure.error.reason)) throw failure.error;
        outage.end();
        await clock.sleep(failure.error.retryAfterMs ?? longestPauseMs, signal);
      }
    }
  }

  /**
   * Like {@link CallPolicy.run} for a call that removes something: that it is not there any more when the answer to an
   * earlier try was lost, is success.
   */
  async runRemoval(call: () => Promise<unknown>): Promise<void> {
    let tries = 0;
    try {
      await this.run(() => {
        tries += 1;
        return call();
      });
    } catch (error) {
      const isGone = AgentLightningError.isInstance(error) && error.code === 'NOT_FOUND';
      if (tries === 1 || !isGone) throw error;
    }
  }

  /** Starts to keep track of a connection that may be lost. */
  outage(): Outage {
    return new Outage(this.#options);
  }
}

/** A connection that is lost: waits longer each time, and gives up in the end. */
export class Outage {
  readonly #options: CallPolicyOptions;
  #startedAtMs: number | null = null;
  #pauseMs = firstPauseMs;

  constructor(options: CallPolicyOptions) {
    this.#options = options;
  }

  /** The connection is back. */
  end(): void {
    this.#startedAtMs = null;
    this.#pauseMs = firstPauseMs;
  }

  /**
   * Waits before the next try.
   * @throws AgentLightningError RUNTIME_UNAVAILABLE when it has been gone for too long
   */
  async pause(cause: Error): Promise<void> {
    const { clock, reconnectTimeoutMs, address, signal } = this.#options;
    this.#startedAtMs ??= clock.now();
    const goneMs = clock.now() - this.#startedAtMs;
    if (goneMs + this.#pauseMs > reconnectTimeoutMs) {
      throw new AgentLightningError({
        code: 'RUNTIME_UNAVAILABLE',
        message: `The training runtime at ${address} cannot be reached (tried for ${Math.round(goneMs)} ms): ${cause.message}`,
        cause,
      });
    }
    await clock.sleep(this.#pauseMs, signal);
    this.#pauseMs = Math.min(this.#pauseMs * 2, longestPauseMs);
  }
}
