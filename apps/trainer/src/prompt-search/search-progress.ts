import type { JudgedPrompts, PromptSearchBudget } from '@agentlightning/core/algorithm';
import type { TrainingListener } from '../events/training-listener.ts';

/** Counts and reports the rollouts and optimiser calls of a search. */
export class SearchProgress {
  readonly #emit: TrainingListener;
  readonly #budget: PromptSearchBudget;
  #rollouts: number;
  #calls: number;
  #running = 0;
  #best: number | null = null;

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

  #tell(): void {
    const { maxRollouts, maxOptimizerCalls } = this.#budget;
    this.#emit({
      type: 'search-progress',
      rollouts: this.#rollouts,
      running: this.#running,
      maxRollouts,
      optimizerCalls: this.#calls,
      maxOptimizerCalls,
      bestScore: this.#best,
    });
  }
}
