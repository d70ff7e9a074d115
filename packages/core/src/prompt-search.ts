import type { JsonObject } from './json.ts';
import type { PromptTemplateResource } from './resource.ts';

/** The prompts of an agent, by the name under which it asks for them. */
export type PromptSet = Readonly<Record<string, PromptTemplateResource>>;

/** The agent is to be run on tasks with a set of prompts. */
export interface PromptTrial {
  readonly prompts: PromptSet;
  readonly split: 'train' | 'validation';
  /** Which tasks, by their place in the split. */
  readonly tasks: readonly number[];
  /**
   * Which trial of the search this is: the same in every process that does the same search, and no other's. Whoever runs
   * agents names rollouts by it, so that a search that is gone on with finds what was run before.
   */
  readonly occasion: string;
}

/** How an agent did on one task with a set of prompts. */
export interface TriedTask {
  /** Which task, by its place in the split. */
  readonly task: number;
  /** Null when nobody judged it, which is not zero: it is left out of every mean. */
  readonly reward: number | null;
  /** What happened, in words a model can criticise: the task, the conversation, the tools, the reward. */
  readonly account: string;
}

/** A message to the model that criticises and rewrites. */
export interface OptimizerMessage {
  readonly role: 'system' | 'user';
  readonly content: string;
}

/** How the optimiser model is asked. */
export interface OptimizerRequest {
  readonly temperature: number;
  /** Which question of the search this is; see {@link PromptTrial.occasion}. */
  readonly occasion: string;
}

/** What a search works with; whoever runs it decides how agents are run and which model is asked. */
export interface PromptSearchContext {
  /** What the search begins with; at least one prompt. */
  readonly initial: PromptSet;
  /** How many tasks there are to learn from. */
  readonly trainTasks: number;
  /** How many tasks candidates are chosen by. */
  readonly validationTasks: number;
  /** Runs the agent with these prompts on tasks of a split, at once; the answers are in the order of the tasks. */
  tryTasks(trial: PromptTrial): Promise<readonly TriedTask[]>;
  /** Asks the optimiser model. */
  ask(messages: readonly OptimizerMessage[], request: OptimizerRequest): Promise<string>;
  /** Everything drawn at random comes from it. */
  readonly seed: number;
  /** What {@link save} was given last, of the same search; null for a new one. */
  readonly saved: JsonObject | null;
  /** Keeps where the search stands, so that a search that is killed goes on from here. */
  save(state: JsonObject, standing: PromptSearchStanding): Promise<void>;
  /** Told of every candidate that was judged. @default nobody is */
  onCandidate?(candidate: JudgedPrompts): void;
  /** Ends the search; what was found until then is the result. @default never */
  readonly signal?: AbortSignal;
}

/** A set of prompts and what is known of it. */
export interface JudgedPrompts {
  /** `v0` is the beginning. */
  readonly version: string;
  readonly prompts: PromptSet;
  /** The versions it was made of; none for the beginning. */
  readonly parents: readonly string[];
  /** Mean reward over the validation tasks it was tried on; null when none was judged. */
  readonly score: number | null;
  /** How many validation tasks that is. */
  readonly scoredTasks: number;
  /** The reward on each validation task, in their order; null where it was not tried, or nobody judged it. */
  readonly taskScores: readonly (number | null)[];
}

/** What a search has found so far, and what that has cost. */
export interface PromptSearchStanding {
  readonly best: JudgedPrompts;
  /** Every candidate, in the order they were made. */
  readonly history: readonly JudgedPrompts[];
  /** How many times the agent was run on a task, by this process and those before it. */
  readonly rollouts: number;
  /** How many times the optimiser model was asked, likewise. */
  readonly optimizerCalls: number;
}

/** What a search found. */
export interface PromptSearchResult extends PromptSearchStanding {
  /** Why it ended. */
  readonly ended: 'finished' | 'budget' | 'stopped';
}

/** What a search may cost. */
export interface PromptSearchBudget {
  /** How often the agent may be run on a task in all; null for no limit. */
  readonly maxRollouts: number | null;
  /** How often the optimiser model may be asked in all; null for no limit. */
  readonly maxOptimizerCalls: number | null;
}

/**
 * A search for better prompts: an algorithm that changes what the agent says to a model, and no weights. The `kind` tells
 * it from an algorithm that trains; nobody asks for its name.
 *
 * The same seed, the same answers of model and agent, and the same tasks give the same search.
 */
export interface PromptSearch {
  readonly kind: 'prompt-search';
  /** Its name in configurations, such as `apo`. */
  readonly name: string;
  readonly budget: PromptSearchBudget;
  run(context: PromptSearchContext): Promise<PromptSearchResult>;
}
