import type { JudgedPrompts, PromptKind, PromptSearchBudget } from '../../algorithm/prompt-search.ts';
import type { JsonObject } from '../../base/json.ts';
import type { Cost } from '../../store/cost.ts';
import type { VerdictName } from './run-info.ts';
import type { RunWarning, WarningExplanation } from './run-warning.ts';

/** A mean reward over held-out tasks, with its 95 % confidence interval. */
export interface EvaluationSummary {
  /** Mean of the rewards that exist. A rollout whose agent failed counts as `reward.failed`, by default 0. */
  readonly reward: number;
  /** 95 % confidence interval of the mean. */
  readonly ci95: readonly [number, number];
  /** The number of rollouts with a reward. */
  readonly rollouts: number;
  /** The number of rollouts whose agent failed. */
  readonly failed: number;
  /** The number of rollouts without a reward, which are excluded, such as infrastructure failures. */
  readonly missing: number;
}

/** A response that would be given to every held-out task, and its mean reward. */
export interface ConstantResponse {
  readonly text: string;
  /** Over all tasks; those on which the response was not seen count 0. */
  readonly reward: number;
  /** The share of tasks on which it was seen, from 0 to 1. */
  readonly seenShare: number;
}

/** The result of a training step. */
export interface StepSummary {
  /** From 1. */
  readonly step: number;
  readonly steps: number;
  /** Mean reward of all rollouts that the step has collected, also of groups that it does not train on. */
  readonly reward: number;
  /** Mean entropy of the policy at trained tokens, in nats; null when the step had no training tokens, or the runtime does not measure it. */
  readonly entropy: number | null;
  /** Trained tokens per second, over the whole step. */
  readonly tokensPerSecond: number;
  /** Duration of the step, in seconds. */
  readonly seconds: number;
  /** Estimated duration of the remaining steps, in seconds. */
  readonly secondsLeft: number;
  /** All metrics by name. Metrics of a named policy have its name as a prefix: `writer/policy/entropy`. */
  readonly metrics: Readonly<Record<string, number>>;
}

/**
 * Why a training is complete: its goal is reached, a warning of `stop.warnings` was emitted, the held-out reward has
 * stopped rising (`stop.patience`), or all its steps are finished.
 */
export const completionReasons = ['goal', 'warning', 'patience', 'steps'] as const;

/** One of {@link completionReasons}. */
export type CompletionReason = (typeof completionReasons)[number];

/** The checkpoint that a run ended with. */
export interface FinalCheckpoint {
  readonly step: number;
  /**
   * The tasks on which it was selected as the best evaluated one. On `test`, the reward after training is biased upwards: it
   * is of the same tasks. Null when it was not selected.
   */
  readonly selectedOn: 'validation' | 'test' | null;
  /** The number of evaluated checkpoints. */
  readonly candidates: number;
}

/** A stage of a run. */
export interface StageSummary {
  readonly algorithm: string;
  /** Its first and last step, the latter as far as finished. */
  readonly firstStep: number;
  readonly lastStep: number;
  /** The step of the checkpoint that it began with; null for the first stage. */
  readonly startStep: number | null;
  /** Why it ended; null for one that has not. */
  readonly ended: CompletionReason | null;
}

/** A training task that no rollout has solved. */
export interface UnsolvedTask {
  /** Its index in `tasks.train`. */
  readonly task: number;
  /** The number of its rollouts. */
  readonly rollouts: number;
  /** Ids of the last ones. */
  readonly examples: readonly string[];
}

/** The result of a run. */
export interface TrainingSummary {
  readonly runId: string;
  readonly before: EvaluationSummary;
  readonly after: EvaluationSummary;
  /** The comparison of `before` and `after`: paired t-test, 5 % two-sided. */
  readonly verdict: VerdictName;
  /** What the verdict on the mean reward does not show: falling parts, or different rewards of equal weights. */
  readonly caveats: readonly string[];
  /** Whether the verdict is `better`; null when it is `undecided`, because too many rewards are missing. */
  readonly isImproved: boolean | null;
  /** Probability of a change at least this large by chance; null when no task has a reward before and after. */
  readonly pValue: number | null;
  /** The share of held-out tasks without a reward before or after, from 0 to 1. */
  readonly missingShare: number;
  /** Parts of the reward that compare rollouts with each other, and so allow no verdict. @default none */
  readonly relativeParts?: readonly string[];
  /** Mean training reward of each step, in order; for a prompt search, the best score after each version. */
  readonly rewardCurve: readonly number[];
  /** Wall time of this process, in seconds. */
  readonly seconds: number;
  /** A held-out rollout before and one after, on the same task where possible. */
  readonly exampleBefore: string | null;
  readonly exampleAfter: string | null;
  /** The data directory of the run. */
  readonly dataDir: string;
  /** The URL of the run's store. It may contain a password: print it with `addressText` of core. */
  readonly storeUrl: string;
  /** Why the training ended, and its warnings. @default absent in a prompt search */
  readonly training?: {
    readonly ended: CompletionReason;
    readonly warnings: readonly RunWarning[];
    /** The loss of each step, in order, if all of them imitate demonstrations; otherwise empty. */
    readonly lossCurve: readonly number[];
    /** The best constant response to the held-out tasks, as far as seen; null when no two tasks had the same one. */
    readonly constantResponse: ConstantResponse | null;
    /** The checkpoint that the run ended with, which `after` measures. */
    readonly final: FinalCheckpoint;
    /** In order. @default absent in a run without stages */
    readonly stages?: readonly StageSummary[];
    /** The training tasks that the curriculum has set aside, by index. @default [] */
    readonly unsolvedTasks?: readonly UnsolvedTask[];
  };
  /** The result of a prompt search. @default absent in a training run */
  readonly prompts?: PromptsOutcome;
}

/** The result of a prompt search. */
export interface PromptsOutcome {
  /** All evaluated versions in order of creation; the first one is the initial version. */
  readonly versions: readonly JudgedPrompts[];
  /** The kinds of the prompts, by name. @default all are instructions */
  readonly kinds?: Readonly<Record<string, PromptKind>>;
  /** The best version. */
  readonly best: string;
  /**
   * `finished`: the search is complete; `budget`: another version would exceed the budget; `no-new-version`: the optimiser model
   * proposed only known prompts, and good rollouts gave only known examples.
   */
  readonly ended: 'finished' | 'budget' | 'no-new-version';
  /** The tasks of `before` and `after`. The best version was selected on `validation`, so its score there is biased upwards. */
  readonly measuredOn: 'test' | 'validation';
  /** The number of rollouts, without those of `test`. */
  readonly rollouts: number;
  /** The number of requests to the optimiser model. */
  readonly optimizerCalls: number;
  /** The number of its replies without a valid prompt. */
  readonly unusableReplies: number;
  /** What the optimiser model read and wrote, and what that costs; null when it did not report it. */
  readonly optimizerUse: { readonly inputTokens: number; readonly outputTokens: number; readonly cost: Cost } | null;
  /** The JSON file with the result. */
  readonly file: string;
}

/** The settings of a prompt search at its start. */
export interface SearchStart extends PromptSearchBudget {
  readonly validationTasks: number;
  /** The names of the prompts. */
  readonly prompts: readonly string[];
  /** The kinds of the prompts, by name. @default all are instructions */
  readonly kinds?: Readonly<Record<string, PromptKind>>;
  /** The model that criticises and rewrites prompts; null without one. */
  readonly optimizer: string | null;
  /** The number of existing versions; above 0 when resumed. */
  readonly versions: number;
}

/** The resumed run is complete; its summary follows. */
export interface NothingLeftEvent {
  readonly type: 'nothing-left';
  readonly runId: string;
  /** The last finished step; 0 for a prompt search. */
  readonly finishedStep: number;
  /** The configured number of steps; 0 for a prompt search. */
  readonly steps: number;
  /** Why the training ended; `limits`: the prompt search has ended with the same limits. */
  readonly reason: CompletionReason | 'limits';
}

/** An event of a run. */
export type TrainingEvent =
  | {
      readonly type: 'started';
      readonly runId: string;
      readonly name: string;
      readonly steps: number;
      /** The first step of this process; above 1 when resumed. */
      readonly firstStep: number;
      readonly trainTasks: number;
      readonly heldOutTasks: number;
      readonly algorithm: string;
      readonly model: string;
      readonly device: string;
      /** The stage that begins or is resumed, from 1. @default absent in a run without stages */
      readonly stage?: { readonly number: number; readonly of: number };
      /** @default absent in a training run */
      readonly search?: SearchStart;
    }
  | {
      readonly type: 'evaluated';
      readonly step: number;
      readonly phase: EvaluationPhase;
      /** The evaluated tasks. */
      readonly tasks: 'test' | 'validation';
      readonly summary: EvaluationSummary;
    }
  | {
      readonly type: 'rollout-finished';
      readonly phase: RolloutPhase;
      /** The current step; for evaluations, the last finished one. */
      readonly step: number;
      readonly finished: number;
      readonly total: number;
    }
  | { readonly type: 'stepped'; readonly summary: StepSummary }
  | {
      readonly type: 'checkpointed';
      readonly step: number;
      readonly uri: string;
      /** The name of the policy; null in runs without named policies. */
      readonly policy: string | null;
    }
  | {
      /** A version of the prompts was evaluated on validation tasks. */
      readonly type: 'prompts-judged';
      readonly version: string;
      /** Its mean reward; null when no rollout has a reward. */
      readonly score: number | null;
      readonly scoredTasks: number;
      /** The versions that it is derived from. */
      readonly parents: readonly string[];
      /** The highest score so far. */
      readonly bestScore: number | null;
    }
  | ({
      readonly type: 'search-progress';
      /** The time for which the optimiser model has not replied to any request, in seconds; from 10 s. */
      readonly waitingSeconds?: number;
      /** The number of ended and of running rollouts. */
      readonly rollouts: number;
      readonly running: number;
      readonly optimizerCalls: number;
      readonly bestScore: number | null;
    } & PromptSearchBudget)
  | NothingLeftEvent
  | {
      /** An event of the job of a vendor that trains. */
      readonly type: 'fine-tuning';
      readonly message: string;
      /** Null before there is a job. */
      readonly jobId: string | null;
    }
  | {
      /** The number of registered remote runners of a run has changed. */
      readonly type: 'runners';
      readonly runners: number;
    }
  | {
      /** A line that an agent wrote to standard output or standard error; not of agents in this process. */
      readonly type: 'agent-output';
      readonly line: string;
    }
  | {
      readonly type: 'warning';
      readonly message: string;
      readonly details?: JsonObject;
      /** The named condition that was detected, with its explanation. @default absent for other warnings */
      readonly condition?: RunWarning & WarningExplanation;
    }
  | { readonly type: 'finished'; readonly summary: TrainingSummary };

/** The phase of an evaluation. */
export type EvaluationPhase = 'before' | 'during' | 'after';

/** The purpose of rollouts: a training step or an evaluation. */
export type RolloutPhase = 'step' | EvaluationPhase;
