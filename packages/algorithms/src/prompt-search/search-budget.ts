import { AgentLightningError } from '@agentlightning/core';
import type {
  OptimizerMessage,
  PromptSearchBudget,
  PromptSearchContext,
  PromptTrial,
  TriedTask,
} from '@agentlightning/core/algorithm';

/** Used part of a budget. */
export interface UsedBudget {
  readonly rollouts: number;
  readonly optimizerCalls: number;
}

/** Budget of a search, and the guidance of its requests. */
export interface SearchLimits extends PromptSearchBudget {
  /** Empty for none. */
  readonly guidance: string;
}

/** Counts rollouts and requests of a search and enforces their limits. */
export class SearchBudget {
  readonly #context: PromptSearchContext;
  readonly #maxRollouts: number;
  readonly #maxCalls: number;
  readonly #guidance: string;
  #rollouts: number;
  #calls: number;

  /** @param used - the part used before a restart; null for a new search */
  constructor(context: PromptSearchContext, limits: SearchLimits, used: UsedBudget | null) {
    this.#context = context;
    this.#maxRollouts = limits.maxRollouts ?? Number.MAX_SAFE_INTEGER;
    this.#guidance = limits.guidance;
    this.#maxCalls = limits.maxOptimizerCalls ?? Number.MAX_SAFE_INTEGER;
    this.#rollouts = used?.rollouts ?? 0;
    this.#calls = used?.optimizerCalls ?? 0;
  }

  get used(): UsedBudget {
    return { rollouts: this.#rollouts, optimizerCalls: this.#calls };
  }

  get isStopped(): boolean {
    return this.#context.signal?.aborted === true;
  }

  /**
   * The largest number of branches of the next round that the remaining budget covers.
   *
   * @param most - maximum number of branches
   * @param cost - the cost of a round by its number of branches
   * @returns 0 when it covers none or the search was stopped
   */
  affordableBranches(most: number, cost: (branches: number) => UsedBudget): number {
    if (this.isStopped) return 0;
    for (let branches = most; branches > 0; branches -= 1) if (this.#covers(cost(branches))) return branches;
    return 0;
  }

  #covers({ rollouts, optimizerCalls }: UsedBudget): boolean {
    return this.#rollouts + rollouts <= this.#maxRollouts && this.#calls + optimizerCalls <= this.#maxCalls;
  }

  /**
   * Asserts that the budget covers the evaluation of the initial prompts, the baseline of the search.
   *
   * @throws AgentLightningError with code `CONFIG` when it does not
   */
  assertAllowsBaseline(rollouts: number): void {
    if (rollouts <= this.#maxRollouts) return;
    throw new AgentLightningError({
      code: 'CONFIG',
      message: `maxRollouts is ${this.#maxRollouts}, but the evaluation of the initial prompts on all validation tasks takes ${rollouts} rollouts`,
      remedy: 'Set maxRollouts to several times as many, or give fewer validation tasks.',
    });
  }

  async try(trial: PromptTrial): Promise<readonly TriedTask[]> {
    this.#rollouts += trial.tasks.length;
    return await this.#context.tryTasks(trial);
  }

  /**
   * Divides the remaining requests evenly among concurrent branches.
   *
   * @param most - maximum number of requests per branch
   */
  optimizersFor(occasions: readonly string[], most: number): readonly LimitedOptimizer[] {
    const each = Math.min(most, Math.floor((this.#maxCalls - this.#calls) / occasions.length));
    return occasions.map((occasion) => {
      const complete = async (
        messages: readonly OptimizerMessage[],
        request: { occasion: string; temperature: number },
      ) => {
        this.#calls += 1;
        return await this.#context.complete(withGuidance(messages, this.#guidance), request);
      };
      return new LimitedOptimizer({ complete, occasion, left: each });
    });
  }
}

function withGuidance(messages: readonly OptimizerMessage[], guidance: string): readonly OptimizerMessage[] {
  if (guidance === '') return messages;
  return messages.map((message) =>
    message.role === 'system' ? { ...message, content: `${message.content}\n\n${guidance}` } : message,
  );
}

/** Sends the requests of one branch to the optimiser model, up to its limit. */
export class LimitedOptimizer {
  readonly #complete: PromptSearchContext['complete'];
  readonly #occasion: string;
  #left: number;
  #requests = 0;

  constructor(options: {
    readonly complete: PromptSearchContext['complete'];
    readonly occasion: string;
    readonly left: number;
  }) {
    this.#complete = options.complete;
    this.#occasion = options.occasion;
    this.#left = options.left;
  }

  /** The response; null when the budget is used up. */
  async complete(messages: readonly OptimizerMessage[], temperature: number): Promise<string | null> {
    if (this.#left === 0) return null;
    this.#left -= 1;
    this.#requests += 1;
    return await this.#complete(messages, { temperature, occasion: `${this.#occasion}/question-${this.#requests}` });
  }
}
