import type { JudgedPrompts, PromptSearchBudget } from '@agentlightning/core/algorithm';
import type { TrainingListener } from '../events/training-listener.ts';

/** Interval of the reports that the optimiser model has not replied, in milliseconds. */
const waitingReportMs = 10_000;

/** Counts and reports the rollouts and optimiser calls of a search. */
export class SearchProgress {
  readonly #emit: TrainingListener;
  readonly #budget: PromptSearchBudget;
  #rollouts: number;
  #calls: number;
  #running = 0;
  #best: number | null = null;
  #requests = 0;
  #silence: NodeJS.Timeout | null = null;

  /** @param spent - the counts of earlier processes */
  constructor(
    emit: TrainingListener,
    budget: PromptSearchBudget,
    spent: { readonly rollouts: number; readonly optimizerCalls: number },
  ) {
    this.#emit = emit;
    this.#budget = budget;
    this.#rollouts = spent.rollouts;
    this.#calls = spent.optimizerCalls;
  }

  /** Announces rollouts. @returns reports the number of ended ones */
  trial(rollouts: number): (ended: number) => void {
    this.#running += rollouts;
    let before = 0;
    return (ended) => {
      this.#rollouts += ended - before;
      this.#running -= ended - before;
      before = ended;
      this.#tell();
    };
  }

  /** Reports from time to time that the optimiser model has not replied, until it has. */
  async waitForOptimizer<TReply>(reply: () => Promise<TReply>): Promise<TReply> {
    this.#requests += 1;
    this.#silence ??= this.#reportSilence();
    try {
      return await reply();
    } finally {
      this.#requests -= 1;
      clearInterval(this.#silence);
      this.#silence = this.#requests === 0 ? null : this.#reportSilence();
    }
  }

  /** The optimiser model has responded. */
  optimizerResponded(): void {
    this.#calls += 1;
    this.#tell();
  }

  judged({ version, score, scoredTasks, parents }: JudgedPrompts): void {
    if (score !== null) this.#best = Math.max(this.#best ?? score, score);
    this.#emit({ type: 'prompts-judged', version, score, scoredTasks, parents, bestScore: this.#best });
  }

  /** Reports the results so far of a resumed search. */
  startAt(score: number | null): void {
    this.#best = score;
  }

  #reportSilence(): NodeJS.Timeout {
    let waitingSeconds = 0;
    return setInterval(() => {
      waitingSeconds += waitingReportMs / 1000;
      this.#tell({ waitingSeconds });
    }, waitingReportMs).unref();
  }

  #tell(more: { readonly waitingSeconds?: number } = {}): void {
    const { maxRollouts, maxOptimizerCalls } = this.#budget;
    this.#emit({
      type: 'search-progress',
      rollouts: this.#rollouts,
      running: this.#running,
      maxRollouts,
      optimizerCalls: this.#calls,
      maxOptimizerCalls,
      bestScore: this.#best,
      ...more,
    });
  }
}
