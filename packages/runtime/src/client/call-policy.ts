import { AgentLightningError, type Clock } from '@agentlightning/core';
import { ErrorReason } from '../gen/agentlightning/runtime/v1/error_pb.ts';
import { classifyCallError } from '../wire/grpc-error.ts';

/** Retry settings of a client. */
export interface CallPolicyOptions {
  /** The address of the runtime, for messages. */
  readonly address: string;
  readonly clock: Clock;
  /** Retry limit for a lost connection, in milliseconds. */
  readonly reconnectTimeoutMs: number;
  /** Ends all waits. */
  readonly signal: AbortSignal;
}

const firstPauseMs = 50;
const longestPauseMs = 1_000;

/** Transient refusals, retried for as long as the runtime requests. */
const passingReasons: ReadonlySet<ErrorReason> = new Set([ErrorReason.QUEUE_FULL, ErrorReason.ENGINE_UNAVAILABLE]);

/**
 * Retries calls: on a lost connection for a bounded time, on a full queue for as long as the runtime requests. Every
 * call of the contract is idempotent.
 */
export class CallPolicy {
  readonly #options: CallPolicyOptions;

  constructor(options: CallPolicyOptions) {
    this.#options = options;
  }

  /** @throws RuntimeError the runtime's error
   * @throws AgentLightningError RUNTIME_UNAVAILABLE when it cannot be reached */
  async run<TResult>(call: () => Promise<TResult>): Promise<TResult> {
    const { clock, signal } = this.#options;
    const outage = this.outage();
    for (;;) {
      try {
        return await call();
      } catch (error) {
        if (signal.aborted) throw signal.reason;
        // Raised on this side: another component has already detected the loss.
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
   * Like {@link CallPolicy.run} for a call that removes something: NOT_FOUND on a retry, after a lost response, is
   * success.
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

  /** Starts to track a connection that may be lost. */
  outage(): Outage {
    return new Outage(this.#options);
  }
}

/** A lost connection: backs off exponentially, and gives up after a timeout. */
export class Outage {
  readonly #options: CallPolicyOptions;
  #startedAtMs: number | null = null;
  #pauseMs = firstPauseMs;

  constructor(options: CallPolicyOptions) {
    this.#options = options;
  }

  /** The connection is restored. */
  end(): void {
    this.#startedAtMs = null;
    this.#pauseMs = firstPauseMs;
  }

  /**
   * Waits before the next attempt.
   * @throws AgentLightningError RUNTIME_UNAVAILABLE after the reconnect timeout
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
