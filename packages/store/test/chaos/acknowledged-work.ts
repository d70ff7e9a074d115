import type { SpanInput, Store } from '@agentlightning/core';
import { systemClock } from '@agentlightning/core/internal';
import { aSpan } from '@agentlightning/core/testing';

/** A rollout, with what the store has acknowledged of it. */
export interface AcknowledgedRollout {
  readonly rolloutId: string;
  attemptId: string | null;
  readonly spanIds: string[];
  isFinished: boolean;
}

/** A client that works with a store as trainers and runners do, and remembers what the store has acknowledged. */
export class AcknowledgedWork {
  readonly rollouts: Map<string, AcknowledgedRollout> = new Map();
  /** The steps whose metrics were acknowledged. */
  readonly steps: number[] = [];
  readonly runId: string;
  readonly #store: Store;
  #isOver = false;

  constructor(store: Store, runId: string) {
    this.#store = store;
    this.runId = runId;
  }

  /** Works until the signal aborts. */
  async run(): Promise<void> {
    await this.#store.createRun({ runId: this.runId, name: this.runId, config: {} });
    for (let round = 1; !this.#isOver; round += 1) await this.#work(round);
  }

  /** Lets it finish the round it is in. */
  stop(): void {
    this.#isOver = true;
  }

  async #work(round: number): Promise<void> {
    const { runId } = this;
    const ids = [1, 2, 3].map((index) => `ro-${runId}-${round}-${index}`);
    const enqueued = await this.#store.enqueueRollouts(ids.map((rolloutId) => ({ rolloutId, runId, input: round })));
    for (const { rolloutId } of enqueued) {
      this.rollouts.set(rolloutId, { rolloutId, attemptId: null, spanIds: [], isFinished: false });
    }
    const claimed = await this.#store.claimRollouts({ runId, limit: 3, workerId: runId, waitMs: 30_000 });
    await Promise.all(claimed.map(({ rolloutId, attempt }) => this.#record(rolloutId, attempt.attemptId)));
    await this.#store.updateRun(runId, { state: { round } }, [
      { runId, step: round, timeMs: systemClock.now(), values: { round } },
    ]);
    this.steps.push(round);
  }

  async #record(rolloutId: string, attemptId: string): Promise<void> {
    const acknowledged = this.rollouts.get(rolloutId);
    if (acknowledged === undefined) throw new Error(`${this.runId} was given ${rolloutId}, which it did not enqueue`);
    acknowledged.attemptId = attemptId;
    for (let batch = 0; batch < 3; batch += 1) {
      const spans = [1, 2].map((): SpanInput => {
        const { sequenceId: _given, ...span } = aSpan({ rolloutId, attemptId, attributes: { text: 'x'.repeat(500) } });
        return span;
      });
      await this.#store.appendSpans(spans);
      acknowledged.spanIds.push(...spans.map((span) => span.spanId));
    }
    await this.#store.updateAttempt(rolloutId, attemptId, { status: 'succeeded' });
    acknowledged.isFinished = true;
  }
}
