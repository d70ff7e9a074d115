import { AgentLightningError } from '@agentlightning/core';
import type {
  OptimizerMessage,
  PromptSearchBudget,
  PromptSearchContext,
  PromptTrial,
  TriedTask,
} from '@agentlightning/core/algorithm';

/** What was used of a budget. */
export interface UsedBudget {
  readonly rollouts: number;
  readonly optimizerCalls: number;
}

/** What a search may cost, and what every question of it says besides. */
export interface SearchLimits extends PromptSearchBudget {
  /** Empty for nothing. */
  readonly guidance: string;
}

/** Counts what a search costs, and says when that is as much as it may. */
export class SearchBudget {
  readonly #context: PromptSearchContext;
  readonly #maxRollouts: number;
  readonly #maxCalls: number;
  readonly #guidance: string;
  #rollouts: number;
  #calls: number;

  /** @param used - what was used before, by a resumed search */
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

  /** Whether the amount is within the budget and the search was not stopped. */
  hasRoomFor({ rollouts, optimizerCalls }: UsedBudget): boolean {
    const isWithin = this.#rollouts + rollouts <= this.#maxRollouts && this.#calls + optimizerCalls <= this.#maxCalls;
    return isWithin && !this.isStopped;
  }

  /**
   * What a search begins with has to be measured, or there is nothing to compare with.
   *
   * @throws AgentLightningError with code `CONFIG` when that alone is more than the search may cost
   */
  assertRoomToBegin(rollouts: number): void {
    if (rollouts <= this.#maxRollouts) return;
    throw new AgentLightningError({
      code: 'CONFIG',
      message: `maxRollouts is ${this.#maxRollouts}, and to measure the first version on all validation tasks takes ${rollouts}`,
      remedy: 'Allow several times as many rollouts, or give fewer validation tasks.',
    });
  }

  async try(trial: PromptTrial): Promise<readonly TriedTask[]> {
    this.#rollouts += trial.tasks.length;
    return await this.#context.tryTasks(trial);
  }

  /**
   * Divides the questions that are left among places that ask at the same time, so that who is first gets no more.
   *
   * @param most - what one place needs at most
   */
  questionsFor(occasions: readonly string[], most: number): readonly Questions[] {
    const each = Math.min(most, Math.floor((this.#maxCalls - this.#calls) / occasions.length));
    return occasions.map((occasion) => {
      const ask = async (messages: readonly OptimizerMessage[], request: { occasion: string; temperature: number }) => {
        this.#calls += 1;
        return await this.#context.ask(withGuidance(messages, this.#guidance), request);
      };
      return new Questions({ ask, occasion, left: each });
    });
  }
}

function withGuidance(messages: readonly OptimizerMessage[], guidance: string): readonly OptimizerMessage[] {
  if (guidance === '') return messages;
  return messages.map((message) =>
    message.role === 'system' ? { ...message, content: `${message.content}\n\n${guidance}` } : message,
  );
}

/** The questions that one place of a search may ask the optimiser model. */
export class Questions {
  readonly #ask: PromptSearchContext['ask'];
  readonly #occasion: string;
  #left: number;
  #asked = 0;

  constructor(options: {
    readonly ask: PromptSearchContext['ask'];
    readonly occasion: string;
    readonly left: number;
  }) {
    this.#ask = options.ask;
    this.#occasion = options.occasion;
    this.#left = options.left;
  }

  /** The response; null when the budget is used up. */
  async ask(messages: readonly OptimizerMessage[], temperature: number): Promise<string | null> {
    if (this.#left === 0) return null;
    this.#left -= 1;
    this.#asked += 1;
    return await this.#ask(messages, { temperature, occasion: `${this.#occasion}/question-${this.#asked}` });
  }
}
