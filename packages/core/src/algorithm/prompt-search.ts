import type { JsonObject } from '../base/json.ts';
import type { PromptTemplateResource } from '../store/resource.ts';

/** The prompts of an agent, by name. */
export type PromptSet = Readonly<Record<string, PromptTemplateResource>>;

/**
 * The kind of a prompt: a text that the optimiser model rewrites (`instruction`), the description of a tool, which it rewrites
 * too (`tool`), or examples, which are drawn from good training rollouts (`examples`).
 */
export type PromptKind = 'instruction' | 'tool' | 'examples';

/** All kinds of prompts. */
export const promptKinds: readonly ['instruction', 'tool', 'examples'] = ['instruction', 'tool', 'examples'];

/** The maximum number of examples in a prompt of kind `examples`. */
export const maxExamples = 32;

/** How a search changes a prompt. */
export type SearchedPrompt =
  | { readonly kind: Exclude<PromptKind, 'examples'> }
  | {
      readonly kind: 'examples';
      /** Maximum number of examples. */
      readonly count: number;
    };

/** A request to run the agent on tasks with a set of prompts. */
export interface PromptTrial {
  /** The prompts to evaluate. */
  readonly prompts: PromptSet;
  /** The tasks to evaluate on. */
  readonly split: 'train' | 'validation';
  /** Task indices in the split. */
  readonly tasks: readonly number[];
  /**
   * Idempotency key of the trial: deterministic and unique within a search. Rollout names are derived from it, so that
   * a resumed search finds earlier rollouts.
   */
  readonly occasion: string;
}

/** Result of one task with a set of prompts. */
export interface TriedTask {
  /** Task index in the split. */
  readonly task: number;
  /** Null without a reward, which is not zero: it is excluded from every mean. */
  readonly reward: number | null;
  /** Transcript for the optimiser model: task, conversation, tool calls, reward. */
  readonly transcript: string;
  /**
   * Text of the rollout as an example, by prompt of kind `examples`, for training tasks; without prompts for which it is not
   * usable. @default none
   */
  readonly examples?: Readonly<Record<string, string>>;
  /** Id of the rollout, by which a version names the rollouts of its examples. @default none */
  readonly rolloutId?: string;
}

/** A rollout that is an example in a prompt. */
export interface ChosenExample {
  /** Index of the training task. */
  readonly task: number;
  /** Its reward. */
  readonly reward: number;
  /** Null when {@link TriedTask.rolloutId} is not given. */
  readonly rolloutId: string | null;
}

/** A message to the optimiser model. */
export interface OptimizerMessage {
  /** Author of the message. */
  readonly role: 'system' | 'user';
  /** Text of the message. */
  readonly content: string;
}

/** Options of a request to the optimiser model. */
export interface OptimizerRequest {
  /** Sampling temperature. */
  readonly temperature: number;
  /** Idempotency key of the request; see {@link PromptTrial.occasion}. */
  readonly occasion: string;
}

/** Environment of a search, which runs agents and the optimiser model. */
export interface PromptSearchContext {
  /** The initial prompts; at least one. */
  readonly initial: PromptSet;
  /** How each prompt is changed, by name. @default { kind: 'instruction' } */
  readonly searched?: Readonly<Record<string, SearchedPrompt>>;
  /** Number of training tasks. */
  readonly trainTasks: number;
  /** Number of validation tasks, by which candidates are selected. */
  readonly validationTasks: number;
  /** Runs the agent with these prompts on tasks of a split, concurrently; results are in the order of the tasks. */
  tryTasks(trial: PromptTrial): Promise<readonly TriedTask[]>;
  /** Sends messages to the optimiser model and returns its completion. */
  complete(messages: readonly OptimizerMessage[], request: OptimizerRequest): Promise<string>;
  /** Seed of all random draws. */
  readonly seed: number;
  /** The last argument of {@link save} in the same search; null for a new search. */
  readonly saved: JsonObject | null;
  /** Saves the search state, from which a restarted search resumes. */
  save(state: JsonObject, standing: PromptSearchStanding): Promise<void>;
  /** Called for every evaluated candidate. @default none */
  onCandidate?(candidate: JudgedPrompts): void;
  /** Stops the search; the result is the best state so far. @default never */
  readonly signal?: AbortSignal;
}

/** A set of prompts and its evaluation. */
export interface JudgedPrompts {
  /** `v0` is the initial version. */
  readonly version: string;
  /** The evaluated prompts. */
  readonly prompts: PromptSet;
  /** The versions it was derived from; empty for the initial version. */
  readonly parents: readonly string[];
  /** Mean reward over its evaluated validation tasks; null without a reward. */
  readonly score: number | null;
  /** Number of evaluated validation tasks. */
  readonly scoredTasks: number;
  /** Reward of each validation task, in order; null when it was not run or has no reward. */
  readonly taskScores: readonly (number | null)[];
  /** The rollouts of its examples in order, by prompt of kind `examples`. @default none */
  readonly examples?: Readonly<Record<string, readonly ChosenExample[]>>;
}

/** Candidates and cost of a search so far. */
export interface PromptSearchStanding {
  /** The best prompts so far. */
  readonly best: JudgedPrompts;
  /** Every candidate, in order of creation. */
  readonly history: readonly JudgedPrompts[];
  /** Number of rollouts, across restarts. */
  readonly rollouts: number;
  /** Number of requests to the optimiser model, across restarts. */
  readonly optimizerCalls: number;
  /** Number of replies of the optimiser model without a valid prompt, across restarts. @default not counted */
  readonly unusableReplies?: number;
  /**
   * Number of training tasks with a rollout that can be an example, by prompt of kind `examples`: its text is usable, and its
   * reward higher than the lowest. @default not counted
   */
  readonly exampleTasks?: Readonly<Record<string, number>>;
}

/** Result of a search. */
export interface PromptSearchResult extends PromptSearchStanding {
  /**
   * Why the search ended; `no-new-version`: the optimiser model proposed only known prompts, and good rollouts gave only known
   * examples.
   */
  readonly ended: 'finished' | 'budget' | 'no-new-version' | 'stopped';
}

/** Cost limits of a search. */
export interface PromptSearchBudget {
  /** Maximum number of rollouts; null for no limit. */
  readonly maxRollouts: number | null;
  /** Maximum number of requests to the optimiser model; null for no limit. */
  readonly maxOptimizerCalls: number | null;
}

/**
 * A search for better prompts: it changes the prompts of the agent and no weights. `kind` distinguishes it from a
 * training algorithm.
 *
 * It is deterministic for the same seed, tasks, and responses of model and agent.
 */
export interface PromptSearch {
  /** Distinguishes prompt searches from trainings. */
  readonly kind: 'prompt-search';
  /** Name in configurations, such as `apo`. */
  readonly name: string;
  /** The limits of the search. */
  readonly budget: PromptSearchBudget;
  /** Searches, and returns the best prompts. */
  run(context: PromptSearchContext): Promise<PromptSearchResult>;
}
