import type { JsonValue } from '@agentlightning/core';
import type { ConstantResponse, EvaluationSummary, VerdictName } from '@agentlightning/core/protocol';
import type { FailureCause } from '../results/failure-cause.ts';

/** The result of an evaluation. */
export interface EvaluationReport {
  /** The run in the store that has the rollouts. */
  readonly runId: string;
  /** The number of tasks. */
  readonly tasks: number;
  /** The number of rollouts of each task. */
  readonly samples: number;
  /** What was evaluated. */
  readonly of: EvaluatedSubject;
  /** Null without a comparison. */
  readonly against: EvaluatedSubject | null;
  /** `of` minus `against`; null without a comparison. */
  readonly comparison: EvaluationComparison | null;
  /** Whether the share of missing rewards is within `maxMissingShare`, also in the comparison. */
  readonly isDecided: boolean;
  /** The largest accepted share of missing rewards, from 0 to 1. */
  readonly maxMissingShare: number;
  /** Wall time, in seconds. */
  readonly seconds: number;
  /** The URL of the store. It may contain a password: print it with `addressText` of core. */
  readonly storeUrl: string;
}

/** The rewards of one evaluated model or set of prompts. */
export interface EvaluatedSubject extends EvaluationSummary {
  /** `base`, `endpoint gpt-4.1-mini` or `run-1a2b@best (step 40)`. */
  readonly subject: string;
  /** The share of rollouts without a reward, from 0 to 1. */
  readonly missingShare: number;
  /** Mean and 95 % interval of each dimension of rewards with several, by name. */
  readonly parts: Readonly<Record<string, Pick<EvaluationSummary, 'reward' | 'ci95' | 'rollouts'>>>;
  /** The number of rollouts that failed or have no reward, by cause; causes that did not occur are absent. */
  readonly failures: Readonly<Partial<Record<FailureCause, number>>>;
  /** The best constant response, as far as seen; null when no two tasks had the same one. */
  readonly constantResponse: ConstantResponse | null;
}

/** The difference of two evaluations on the same tasks and sample indexes. */
export interface EvaluationComparison {
  /** Mean reward of `of` minus that of `against`, over the pairs with both rewards; null when there is no such pair. */
  readonly difference: number | null;
  /** 95 % interval of the difference by the paired bootstrap. */
  readonly ci95: readonly [number, number] | null;
  /** Probability of a difference at least this large by chance: paired t-test over the tasks. */
  readonly pValue: number | null;
  /**
   * `undecided`: too many rewards are missing, or the reward has parts that compare rollouts with each other;
   * `not-significant`: the p-value is 5 % or more.
   */
  readonly verdict: VerdictName;
  /** Parts of the reward that compare rollouts with each other, and so allow no verdict. @default none */
  readonly relativeParts?: readonly string[];
  /** The number of tasks with a pair. */
  readonly tasks: number;
  /** The share of pairs in which a reward is missing, from 0 to 1. */
  readonly missingShare: number;
  /** The tasks with the largest gains, the largest first; at most five. */
  readonly gains: readonly TaskDifference[];
  /** The tasks with the largest losses, the largest first; at most five. */
  readonly losses: readonly TaskDifference[];
}

/** The rewards of a task. */
export interface TaskDifference {
  /** The index of the task, from 0. */
  readonly index: number;
  /** The input of the task. */
  readonly task: JsonValue;
  /** The mean over the samples of the task. */
  readonly of: number;
  /** Mean reward of the compared subject. */
  readonly against: number;
  /** The first mean minus the second. */
  readonly difference: number;
  /** The rollouts of the first sample with both rewards. */
  readonly rolloutOf: string;
  /** A rollout of the compared subject. */
  readonly rolloutAgainst: string;
}
