import { AgentLightningError } from '@agentlightning/core';
import type {
  OptimizerMessage,
  PromptSearchBudget,
  PromptSearchContext,
  PromptTrial,
  TriedTask,
} from '@agentlightning/core/algorithm';
import { z } from 'zod';
import type { ExamplePool } from './example-pool.ts';

/** Used part of a budget. */
export interface UsedBudget {
  readonly rollouts: number;
  readonly optimizerCalls: number;
}

/** The number of successive replies without a valid prompt, or without a new one, at which a search ends. */
const maxFruitlessInARow = 12;

/** Budget of a search, and the guidance of its requests. */
export interface SearchLimits extends PromptSearchBudget {
  /** Empty for none. */
  readonly guidance: string;
}

/** Used part of a budget, with the replies that had no valid prompt. */
export interface SpentBudget extends UsedBudget {
  readonly unusableReplies: number;
}

/** The used part of a budget in the state of a search. */
export const spentSchema: z.ZodType<SpentBudget> = z.object({
  rollouts: z.int(),
  optimizerCalls: z.int(),
  // Absent in older states.
  unusableReplies: z.int().default(0),
});

/** Counts rollouts and requests of a search and enforces their limits. */
export class SearchBudget {
  readonly #context: PromptSearchContext;
  readonly #maxRollouts: number;
  readonly #maxCalls: number;
  readonly #guidance: string;
  readonly #examples: ExamplePool;
  #rollouts: number;
  #calls: number;
  #unusable: number;
  #unusableInARow = 0;
  #lastFault = '';
  #repeatedInARow = 0;

  /** @param past - the part used before a restart, null for a new search, and the examples found so far */
  constructor(
    context: PromptSearchContext,
    limits: SearchLimits,
    { used, examples }: { readonly used: SpentBudget | null; readonly examples: ExamplePool },
  ) {
    this.#context = context;
    this.#examples = examples;
    this.#maxRollouts = limits.maxRollouts ?? Number.MAX_SAFE_INTEGER;
    this.#guidance = limits.guidance;
    this.#maxCalls = limits.maxOptimizerCalls ?? Number.MAX_SAFE_INTEGER;
    this.#rollouts = used?.rollouts ?? 0;
    this.#calls = used?.optimizerCalls ?? 0;
    this.#unusable = used?.unusableReplies ?? 0;
  }

  get used(): SpentBudget {
    return { rollouts: this.#rollouts, optimizerCalls: this.#calls, unusableReplies: this.#unusable };
  }

  get isStopped(): boolean {
    return this.#context.signal?.aborted === true;
  }

  /** Why no further version is tried. */
  get end(): 'budget' | 'no-new-version' | 'stopped' {
    if (this.isStopped) return 'stopped';
    return this.hasNoNewVersion ? 'no-new-version' : 'budget';
  }

  /** Whether neither the optimiser model nor the examples had a new version for too long. */
  get hasNoNewVersion(): boolean {
    const isDrawn = (name: string): boolean => this.#examples.isExamples(name);
    const names = Object.keys(this.#context.initial);
    return (this.#isRepeating() || names.every(isDrawn)) && (this.#examples.isExhausted || !names.some(isDrawn));
  }

  /**
   * The largest number of branches of the next round that the remaining budget covers.
   *
   * @param most - maximum number of branches
   * @param cost - the cost of a round by its number of branches
   * @returns 0 when it covers none or the search was stopped
   * @throws AgentLightningError UPSTREAM_FAILED after too many successive replies without a valid prompt
   */
  affordableBranches(most: number, cost: (branches: number) => UsedBudget): number {
    if (this.isStopped || this.hasNoNewVersion) return 0;
    if (this.#isUnusable()) throw unusable(this.#unusableInARow, this.#lastFault);
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
   * @param isUsed - whether a branch sends requests, by its position
   */
  optimizersFor(
    occasions: readonly string[],
    most: number,
    isUsed: (branch: number) => boolean,
  ): readonly LimitedOptimizer[] {
    const users = occasions.filter((_, branch) => isUsed(branch)).length;
    const each = users === 0 ? 0 : Math.min(most, Math.floor((this.#maxCalls - this.#calls) / users));
    return occasions.map((occasion, branch) => {
      const complete = async (
        messages: readonly OptimizerMessage[],
        request: { occasion: string; temperature: number },
      ) => {
        this.#calls += 1;
        return await this.#context.complete(withGuidance(messages, this.#guidance), request);
      };
      const onReply = (judgement: ReplyJudgement): void => this.#judged(judgement);
      const isEnded = (): boolean => this.#isUnusable() || this.#isRepeating();
      return new LimitedOptimizer({ complete, occasion, left: isUsed(branch) ? each : 0, onReply, isEnded });
    });
  }

  #judged({ fault, isNew }: ReplyJudgement): void {
    if (fault === null) {
      this.#unusableInARow = 0;
      this.#repeatedInARow = isNew ? 0 : this.#repeatedInARow + 1;
      return;
    }
    this.#unusable += 1;
    this.#unusableInARow += 1;
    this.#lastFault = fault;
  }

  /** Whether the optimiser model has only repeated prompts for too long. */
  #isRepeating(): boolean {
    return this.#repeatedInARow >= maxFruitlessInARow;
  }

  #isUnusable(): boolean {
    return this.#unusableInARow >= maxFruitlessInARow;
  }
}

function unusable(count: number, fault: string): AgentLightningError {
  return new AgentLightningError({
    code: 'UPSTREAM_FAILED',
    message: `the last ${count} replies of the optimiser model had no valid prompt; the last: ${fault}`,
    remedy: 'Use a model that follows the reply format (`optimizer`), or shorten `guidance`, and resume the search.',
  });
}

function withGuidance(messages: readonly OptimizerMessage[], guidance: string): readonly OptimizerMessage[] {
  if (guidance === '') return messages;
  return messages.map((message) =>
    message.role === 'system' ? { ...message, content: `${message.content}\n\n${guidance}` } : message,
  );
}

/** What a reply of the optimiser model was worth. */
export interface ReplyJudgement {
  /** What is wrong with it; null for a valid one. */
  readonly fault: string | null;
  /** Whether it has a valid prompt that the search does not know. */
  readonly isNew: boolean;
}

/** Sends the requests of one branch to the optimiser model, up to its limit. */
export class LimitedOptimizer {
  readonly #complete: PromptSearchContext['complete'];
  readonly #occasion: string;
  readonly #onReply: (judgement: ReplyJudgement) => void;
  readonly #isEnded: () => boolean;
  #left: number;
  #requests = 0;

  constructor(options: {
    readonly complete: PromptSearchContext['complete'];
    readonly occasion: string;
    readonly left: number;
    /** Called with what each reply was worth. @default not counted */
    readonly onReply?: (judgement: ReplyJudgement) => void;
    /** Whether the search sends no more requests. @default never */
    readonly isEnded?: () => boolean;
  }) {
    this.#complete = options.complete;
    this.#occasion = options.occasion;
    this.#left = options.left;
    this.#onReply = options.onReply ?? ((): void => undefined);
    this.#isEnded = options.isEnded ?? ((): boolean => false);
  }

  /** The response; null when the budget is used up. */
  async complete(messages: readonly OptimizerMessage[], temperature: number): Promise<string | null> {
    if (this.#left === 0 || this.#isEnded()) return null;
    this.#left -= 1;
    this.#requests += 1;
    return await this.#complete(messages, { temperature, occasion: `${this.#occasion}/question-${this.#requests}` });
  }

  /** Counts a reply. */
  judged(judgement: ReplyJudgement): void {
    this.#onReply(judgement);
  }
}
