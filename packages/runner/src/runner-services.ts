import { AgentLightningError, type Clock, type SpanInput, type SpanSink, type Tracer } from '@agentlightning/core';
import { createTracer, errorMessage, systemClock } from '@agentlightning/core/internal';
import { StoreSpanSink } from '@agentlightning/core/spans';
import type { AttemptedRollout } from '@agentlightning/core/store';
import type { AttemptOutcome } from './attempt-outcome.ts';
import type { AttemptOptions } from './runner-options.ts';

/** The input of an attempt. */
export interface AttemptInput<TTask> {
  readonly rollout: AttemptedRollout;
  readonly options: AttemptOptions<TTask>;
  readonly services: RunnerServices;
  /** Aborts when the grace time of a stopped runner is over. */
  readonly hardStop: AbortSignal;
}

/** A scorer whose messages differ for each rollout is not reported forever. */
const maxReportedParts = 20;

/** The services shared by all attempts of a runner: the store connection and the event callbacks. */
export class RunnerServices {
  readonly clock: Clock;
  readonly sink: SpanSink;
  readonly tracer: Tracer;
  readonly #events: NonNullable<AttemptOptions<never>['events']>;
  /** Attempts with lost spans, and the cause. */
  readonly #lossy: Map<string, unknown> = new Map();
  readonly #failedParts: Set<string> = new Set();

  constructor(options: Pick<AttemptOptions<never>, 'store' | 'events' | 'clock'>) {
    this.clock = options.clock ?? systemClock;
    this.tracer = createTracer({ clock: this.clock });
    this.#events = options.events ?? {};
    this.sink = new StoreSpanSink(options.store, {
      clock: this.clock,
      onError: (failure) => {
        if (!failure.isRetried) for (const span of failure.spans) this.#lossy.set(span.attemptId, failure.error);
        this.#notify(() => this.#events.onSpanFailure?.(failure));
      },
    });
  }

  /** Returns and removes the error for an attempt's lost spans; null without loss. */
  takeLoss(attemptId: string): AgentLightningError | null {
    if (!this.#lossy.has(attemptId)) return null;
    const cause = this.#lossy.get(attemptId);
    this.#lossy.delete(attemptId);
    const code = AgentLightningError.isInstance(cause) ? cause.code : 'INTERNAL';
    const reason = errorMessage(cause);
    return new AgentLightningError({ code, message: `Spans of attempt ${attemptId} were lost: ${reason}`, cause });
  }

  attemptStarted(rollout: AttemptedRollout): void {
    this.#notify(() => this.#events.onAttemptStart?.(rollout));
  }

  attemptEnded(outcome: AttemptOutcome): void {
    this.#notify(() => this.#events.onAttemptEnd?.(outcome));
  }

  rewardMissing(rollout: AttemptedRollout): void {
    this.#notify(() => this.#events.onMissingReward?.(rollout));
  }

  /** Reports a failed part of a reward; the same failure of further rollouts is not reported again. */
  partFailed(rolloutId: string, part: string, error: AgentLightningError): void {
    const key = `${part} ${error.message}`;
    if (this.#failedParts.has(key) || this.#failedParts.size >= maxReportedParts) return;
    this.#failedParts.add(key);
    this.failed(`Part "${part}" of the reward, of rollout ${rolloutId} and perhaps others,`, error);
  }

  spanWasLate(span: SpanInput): void {
    this.#notify(() => this.#events.onLateSpan?.(span));
  }

  /** Reports an error outside an attempt's outcome. `doing` is the failed operation. */
  failed(doing: string, error: unknown): void {
    const reason = errorMessage(error);
    const code = AgentLightningError.isInstance(error) ? error.code : 'INTERNAL';
    const remedy = AgentLightningError.isInstance(error) ? { remedy: error.remedy } : {};
    const reported = new AgentLightningError({ code, message: `${doing} failed: ${reason}`, cause: error, ...remedy });
    this.#notify(() => this.#events.onError?.(reported));
  }

  #notify(callback: () => unknown): void {
    try {
      const result = callback();
      // A rejected async callback must not end the process.
      if (result instanceof Promise) result.catch(() => {});
    } catch {
      // Callback errors must not stop the runner, and there is no further callback to report them to.
    }
  }
}
