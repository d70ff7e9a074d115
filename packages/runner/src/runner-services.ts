import {
  AgentLightningError,
  type AttemptedRollout,
  type Clock,
  createTracer,
  type SpanInput,
  type SpanSink,
  type Tracer,
} from '@agentlightning/core';
import { systemClock } from '@agentlightning/core/internal';
import { StoreSpanSink } from '@agentlightning/core/spans';
import type { AttemptOutcome } from './attempt-outcome.ts';
import type { AttemptOptions } from './runner-options.ts';

/** What all attempts of a runner share: the way to the store, and those who are told what happens. */
export class RunnerServices {
  readonly clock: Clock;
  readonly sink: SpanSink;
  readonly tracer: Tracer;
  readonly #events: NonNullable<AttemptOptions<never>['events']>;
  /** Attempts of which spans were lost. */
  readonly #lossy: Map<string, unknown> = new Map();

  constructor(options: Pick<AttemptOptions<never>, 'store' | 'events' | 'clock'>) {
    this.clock = options.clock ?? systemClock;
    this.tracer = createTracer({ clock: this.clock });
    this.#events = options.events ?? {};
    this.sink = new StoreSpanSink(options.store, {
      clock: this.clock,
      onError: (failure) => {
        if (!failure.isRetried) for (const span of failure.spans) this.#lossy.set(span.attemptId, failure.error);
        this.#tell(() => this.#events.onSpanFailure?.(failure));
      },
    });
  }

  /** Why spans of an attempt were lost; null when none were. Forgets the attempt. */
  takeLoss(attemptId: string): AgentLightningError | null {
    if (!this.#lossy.has(attemptId)) return null;
    const cause = this.#lossy.get(attemptId);
    this.#lossy.delete(attemptId);
    const code = AgentLightningError.isInstance(cause) ? cause.code : 'INTERNAL';
    const reason = cause instanceof Error ? cause.message : String(cause);
    return new AgentLightningError({ code, message: `Spans of attempt ${attemptId} were lost: ${reason}`, cause });
  }

  attemptStarted(rollout: AttemptedRollout): void {
    this.#tell(() => this.#events.onAttemptStart?.(rollout));
  }

  attemptEnded(outcome: AttemptOutcome): void {
    this.#tell(() => this.#events.onAttemptEnd?.(outcome));
  }

  rewardMissing(rollout: AttemptedRollout): void {
    this.#tell(() => this.#events.onMissingReward?.(rollout));
  }

  spanWasLate(span: SpanInput): void {
    this.#tell(() => this.#events.onLateSpan?.(span));
  }

  /** Reports what is no attempt's outcome. `doing` says what was tried. */
  failed(doing: string, error: unknown): void {
    const reason = error instanceof Error ? error.message : String(error);
    const code = AgentLightningError.isInstance(error) ? error.code : 'INTERNAL';
    const remedy = AgentLightningError.isInstance(error) ? { remedy: error.remedy } : {};
    const reported = new AgentLightningError({ code, message: `${doing} failed: ${reason}`, cause: error, ...remedy });
    this.#tell(() => this.#events.onError?.(reported));
  }

  #tell(callback: () => unknown): void {
    try {
      const told = callback();
      // An async callback that fails is no reason to end the process either.
      if (told instanceof Promise) told.catch(() => {});
    } catch {
      // Whoever is told must not be able to stop the runner, and there is nobody else to tell.
    }
  }
}
