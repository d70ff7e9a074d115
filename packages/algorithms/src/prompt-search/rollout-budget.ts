import type { PromptSearchContext, PromptSet, TriedTask } from './prompt-search.ts';

/** Counts how often the agent is run, and says when it has been run as often as it may. */
export class RolloutBudget {
  readonly #context: PromptSearchContext;
  readonly #most: number;
  #used: number;

  /** @param used - what was used before, by a search that is gone on with */
  constructor(context: PromptSearchContext, most: number, used: number) {
    this.#context = context;
    this.#most = most;
    this.#used = used;
  }

  get used(): number {
    return this.#used;
  }

  /** Whether so many more are within the budget, and nobody has stopped the search. */
  hasRoomFor(rollouts: number): boolean {
    return !this.isStopped && this.#used + rollouts <= this.#most;
  }

  get isStopped(): boolean {
    return this.#context.signal?.aborted === true;
  }

  async try(
    prompts: PromptSet,
    split: 'train' | 'validation',
    tasks: readonly number[],
  ): Promise<readonly TriedTask[]> {
    this.#used += tasks.length;
    return await this.#context.tryTasks(prompts, split, tasks);
  }
}
