/**
 * A run with a lost runtime (the system ends the embedded one when memory runs out) is closed and opened again at its last
 * checkpoint, as by `--resume`, at most `limits.maxRestarts` times in a row. Restarting the runtime alone, with the session
 * open, would replace every model, endpoint and operation in flight in place. Outages of store, gateway and connections are
 * waited out where they occur (`limits.outageToleranceMs`), since these keep their state.
 *
 * @module
 */
import { AgentLightningError, type Clock } from '@agentlightning/core';
import { backoffMs, systemClock } from '@agentlightning/core/internal';
import type { TrainingEvent } from '@agentlightning/core/protocol';
import { ErrorReason, RuntimeError } from '@agentlightning/runtime';
import type { TrainingListener } from './events/training-listener.ts';

/** Options of {@link Restarts}. */
export interface RestartsOptions {
  /** The number of restarts in a row, without a finished step or evaluation between them, after which a run ends. */
  readonly maxRestarts: number;
  readonly emit: TrainingListener;
  readonly signal: AbortSignal;
  /** @default systemClock */
  readonly clock?: Clock;
}

const restartBackoff = { baseDelayMs: 500, maxDelayMs: 10_000 };

/** Decides whether this process resumes a run whose runtime was lost. */
export class Restarts {
  readonly #options: RestartsOptions;
  #inARow = 0;
  #hasStarted = false;

  constructor(options: RestartsOptions) {
    this.#options = options;
  }

  /** Observes the events of the run: progress ends a row of restarts. */
  observe(event: TrainingEvent): void {
    if (event.type === 'started') this.#hasStarted = true;
    if (event.type === 'stepped' || event.type === 'evaluated' || event.type === 'prompts-judged') this.#inARow = 0;
  }

  /** Whether the run is resumed after this error: not when its runtime could not be started or reached again. */
  isResumable(error: unknown): boolean {
    const { maxRestarts, signal } = this.#options;
    if (signal.aborted || !this.#hasStarted || this.#inARow >= maxRestarts) return false;
    // A runtime that was restarted responds again, and does not know the model.
    if (error instanceof RuntimeError && error.reason === ErrorReason.NOT_FOUND) return true;
    return AgentLightningError.isInstance(error) && error.code === 'RUNTIME_UNAVAILABLE';
  }

  /** Reports a restart, and waits before it. A stop of the run ends the wait. */
  async next(error: unknown): Promise<void> {
    const { maxRestarts, emit, signal, clock = systemClock } = this.#options;
    this.#inARow += 1;
    this.#hasStarted = false;
    const reason = error instanceof Error ? error.message.replace(/^\[\w+\] /, '') : String(error);
    const restart = `restart ${this.#inARow} of at most ${maxRestarts} in a row`;
    emit({ type: 'warning', message: `${reason}; the run resumes from its last checkpoint (${restart})` });
    await clock.sleep(backoffMs(restartBackoff, this.#inARow), signal).catch(() => undefined);
  }
}
