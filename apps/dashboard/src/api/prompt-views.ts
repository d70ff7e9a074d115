import type { JudgedPrompts, PromptKind } from '@agentlightning/core/algorithm';

/** A version of the prompts of a search. */
export interface PromptVersion {
  /** `v0` is the initial version. */
  readonly version: string;
  /** The templates by name. */
  readonly templates: Readonly<Record<string, string>>;
  /** The versions it was derived from; empty for the initial version. */
  readonly parents: readonly string[];
  /** Mean reward over its evaluated validation tasks; null without a reward. */
  readonly score: number | null;
  /** Number of evaluated validation tasks. */
  readonly scoredTasks: number;
  /** Reward of each validation task, in order; null when it was not run or has no reward. */
  readonly taskScores: readonly (number | null)[];
  /** The rollouts of its examples, by prompt of kind `examples`. @default none */
  readonly examples?: NonNullable<JudgedPrompts['examples']>;
  /** Number of tasks on which no other version has a higher reward. The Pareto front has the versions with at least one. */
  readonly bestTasks: number;
}

/** The versions of a prompt search, in order of creation. */
export interface PromptVersions {
  /** The kinds of the prompts, by name; empty for a training run. */
  readonly kinds: Readonly<Record<string, PromptKind>>;
  readonly versions: readonly PromptVersion[];
  /** The version with the highest score; null before the first. */
  readonly best: string | null;
}
