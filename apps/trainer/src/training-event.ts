import type { JsonObject } from '@agentlightning/core';
import type { JudgedPrompts, PromptSearchBudget } from '@agentlightning/core/algorithm';

/** A mean reward over held-out tasks, with its 95 % confidence interval. */
export interface EvaluationSummary {
  /** Mean of the rewards that exist. A rollout whose agent failed counts as `evaluation.failedReward`, by default 0. */
  readonly reward: number;
  /** 95 % confidence interval of the mean. */
  readonly ci95: readonly [number, number];
  /** How many rollouts it is made of. */
  readonly rollouts: number;
  /** How many rollouts their agents failed. */
  readonly failed: number;
  /** How many rollouts have no reward and are excluded, such as those that the infrastructure failed. */
  readonly missing: number;
}

/** What a training step did. */
export interface StepSummary {
  /** From 1. */
  readonly step: number;
  readonly steps: number;
  /** Mean reward of the step's rollouts. */
  readonly reward: number;
  /** Mean entropy of the policy at trained tokens, in nats; null when the step had nothing to learn from. */
  readonly entropy: number | null;
  /** Trained tokens a second, over the whole step. */
  readonly tokensPerSecond: number;
  /** How long the step took, in seconds. */
  readonly seconds: number;
  /** How long the rest will take at this pace, in seconds. */
  readonly secondsLeft: number;
  /** Everything that was measured, by name; of a policy with a name it begins with it: `writer/policy/entropy`. */
  readonly metrics: Readonly<Record<string, number>>;
}

/** The end of a run. */
export interface TrainingSummary {
  readonly runId: string;
  readonly before: EvaluationSummary;
  readonly after: EvaluationSummary;
  /** Whether the held-out reward rose: paired t-test, 5 % two-sided; null when too many rewards are missing to decide. */
  readonly isImproved: boolean | null;
  /** Probability of a change at least this large by chance; null when no task has a reward before and after. */
  readonly pValue: number | null;
  /** The share of held-out tasks without a reward before or after, from 0 to 1. */
  readonly missingShare: number;
  /** Mean training reward of each step, in order; of a search, the best score after each version. */
  readonly rewardCurve: readonly number[];
  /** Wall time of this process, in seconds. */
  readonly seconds: number;
  /** A held-out rollout before and one after, on the same task where possible. */
  readonly exampleBefore: string | null;
  readonly exampleAfter: string | null;
  /** Where the run's data lies. */
  readonly dataDir: string;
  /** What opens the run's store, with the password of a database: `addressText` of core is for showing it. */
  readonly storeUrl: string;
  /** What a search for prompts found. @default absent, of a training */
  readonly prompts?: PromptsOutcome;
}

/** What a search for prompts found. */
export interface PromptsOutcome {
  /** Every version that was judged, in the order they were made; the first one is what the search began with. */
  readonly versions: readonly JudgedPrompts[];
  /** The best of them. */
  readonly best: string;
  /** `finished`: the search did all it was told to; `budget`: another round would have cost more than it may. */
  readonly ended: 'finished' | 'budget';
  /** Which tasks `before` and `after` are about. Those of `validation` also chose the best version, which flatters it. */
  readonly measuredOn: 'test' | 'validation';
  /** How often the agent was run on a task, without what `test` took. */
  readonly rollouts: number;
  /** How often the optimiser model was asked. */
  readonly optimizerCalls: number;
  /** Where the outcome was written, as JSON. */
  readonly file: string;
}

/** What a search for prompts sets out with. */
export interface SearchStart extends PromptSearchBudget {
  readonly validationTasks: number;
  /** The names of the prompts. */
  readonly prompts: readonly string[];
  /** The model that criticises and rewrites. */
  readonly optimizer: string;
  /** How many versions there are already; above 0 when resumed. */
  readonly versions: number;
}

/** The run that was to be gone on with has finished, and has nothing left to do; what it came to follows. */
export interface NothingLeftEvent {
  readonly type: 'nothing-left';
  readonly runId: string;
  /** How many steps it has done; 0 of a search. */
  readonly finishedStep: number;
  /** How many it is to have, as it is configured now; 0 of a search. */
  readonly steps: number;
  /** `steps`: all are done; `goal`: `stopAtReward` was reached; `limits`: of a search, which has ended with the same limits. */
  readonly reason: 'steps' | 'goal' | 'limits';
}

/** What happens in a training run, as it happens. */
export type TrainingEvent =
  | {
      readonly type: 'started';
      readonly runId: string;
      readonly name: string;
      readonly steps: number;
      /** The first step to be done; above 1 when resumed. */
      readonly firstStep: number;
      readonly trainTasks: number;
      readonly heldOutTasks: number;
      readonly algorithm: string;
      readonly model: string;
      readonly device: string;
      /** @default absent, of a training */
      readonly search?: SearchStart;
    }
  | {
      readonly type: 'evaluated';
      readonly step: number;
      readonly phase: EvaluationPhase;
      readonly summary: EvaluationSummary;
    }
  | {
      readonly type: 'rollout-finished';
      readonly phase: RolloutPhase;
      /** The step that is being done; for evaluations, the last one that is done. */
      readonly step: number;
      readonly finished: number;
      readonly total: number;
    }
  | { readonly type: 'stepped'; readonly summary: StepSummary }
  | {
      readonly type: 'checkpointed';
      readonly step: number;
      readonly uri: string;
      /** Of which policy; null where the run names none. */
      readonly policy: string | null;
    }
  | {
      /** A version of the prompts was tried on validation tasks. */
      readonly type: 'prompts-judged';
      readonly version: string;
      /** Its mean reward; null when nobody judged it. */
      readonly score: number | null;
      readonly scoredTasks: number;
      /** The versions that it was made of. */
      readonly parents: readonly string[];
      /** The highest score so far. */
      readonly bestScore: number | null;
    }
  | ({
      readonly type: 'search-progress';
      /** How many rollouts have ended, and how many are under way. */
      readonly rollouts: number;
      readonly running: number;
      readonly optimizerCalls: number;
      readonly bestScore: number | null;
    } & PromptSearchBudget)
  | NothingLeftEvent
  | { readonly type: 'warning'; readonly message: string; readonly details?: JsonObject }
  | { readonly type: 'finished'; readonly summary: TrainingSummary };

/** When a held-out measurement is made. */
export type EvaluationPhase = 'before' | 'during' | 'after';

/** What rollouts are for: a training step, or a held-out measurement. */
export type RolloutPhase = 'step' | EvaluationPhase;

/** Receives what happens in a training run. */
export type TrainingListener = (event: TrainingEvent) => void;
