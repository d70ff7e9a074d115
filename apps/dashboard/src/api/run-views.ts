import type { JsonObject } from '@agentlightning/core';
import type {
  PublicationRecord,
  RunKind,
  SearchProgress,
  StageSummary,
  UnsolvedTask,
  VerdictName,
} from '@agentlightning/core/protocol';
import type { Cost, RunStatistics, RunStatus } from '@agentlightning/core/store';

/** A held-out evaluation. */
export interface EvaluationView {
  /** The last finished step when it was measured; 0 is before training. */
  readonly step: number;
  /** Mean reward. */
  readonly reward: number;
  /** 95 % confidence interval of the mean. */
  readonly low: number;
  readonly high: number;
  /** Number of rollouts with a reward. */
  readonly rollouts: number;
  /** Number of rollouts without a reward. */
  readonly missing: number;
}

/** A warning of the trainer about a run that does not learn. */
export interface WarningView {
  readonly name: string;
  readonly step: number;
  readonly policy: string | null;
  readonly message: string;
  /** Null when the server has no explanation of this warning. */
  readonly cause: string | null;
  readonly remedy: string | null;
}

/** Liveness of a run: `silent` has the status `running`, and its trainer has stopped sending heartbeats. */
export type RunLiveness = 'live' | 'silent' | 'ended';

/** A run in a list. */
export interface RunSummary {
  readonly runId: string;
  readonly name: string;
  readonly kind: RunKind;
  /** The tags of its configuration. */
  readonly tags: readonly string[];
  readonly status: RunStatus;
  readonly liveness: RunLiveness;
  /** Last heartbeat of the trainer in Unix milliseconds; null without one. */
  readonly heartbeatTimeMs: number | null;
  readonly step: number;
  readonly steps: number | null;
  /** Held-out reward before training, or of the first prompts; null until measured. */
  readonly rewardBefore: number | null;
  readonly rewardAfter: number | null;
  /** Null until the run has finished, and for runs of older trainers. */
  readonly verdict: VerdictName | null;
  /** Mean training reward by step, averaged to at most 60 points. */
  readonly rewardCurve: readonly number[];
  /** Loss by step of a training that imitates demonstrations, whose rewards are all equal; empty for another one. */
  readonly lossCurve: readonly number[];
  readonly warnings: number;
  readonly createTimeMs: number;
  readonly updateTimeMs: number;
  /** Tokens of all training batches; null when they are not recorded. */
  readonly trainedTokens: number | null;
  /** Cost of the model calls and of the training runtime, at the prices of the run's configuration. */
  readonly cost: Cost;
}

/** The runs of a store that match a filter, newest first. */
export interface RunList {
  readonly items: readonly RunSummary[];
  /** Whether older runs match too. */
  readonly hasMore: boolean;
  /** The tags of the runs that were read, sorted. */
  readonly tags: readonly string[];
  /** Time of the server in Unix milliseconds, for ages. */
  readonly nowMs: number;
}

/** A run with its evaluations, warnings and progress. */
export interface RunDetail extends RunSummary {
  readonly config: JsonObject;
  /** In order of step. */
  readonly evaluations: readonly EvaluationView[];
  /** In order of detection. */
  readonly runWarnings: readonly WarningView[];
  /** The stages that it has begun, in order; none of a run without stages. */
  readonly stages: readonly StageSummary[];
  /** The training tasks that no rollout has solved and that the run has set aside, by index. */
  readonly unsolvedTasks: readonly UnsolvedTask[];
  /** The last publications of weights, newest first. */
  readonly publications: readonly PublicationRecord[];
  readonly statistics: RunStatistics;
  /** Number of training rollouts without a usable result, by cause. */
  readonly failures: Readonly<Record<string, number>>;
  /** The progress of a prompt search; null for another run. */
  readonly search: SearchView | null;
  readonly nowMs: number;
}

/** The progress of a prompt search. */
export interface SearchView extends SearchProgress {
  /** The version with the highest score; null before the first. */
  readonly best: string | null;
  /** Mean reward on the validation tasks of the first and of the best version; null without a reward. */
  readonly firstScore: number | null;
  readonly bestScore: number | null;
}

/** The difference of a run from the first one of a comparison, in the last held-out reward. */
export interface RunDifference {
  readonly runId: string;
  /** Null when one of both has no recorded rewards. */
  readonly difference: number | null;
  /** Bounds of its 95 % confidence interval. */
  readonly ci95: readonly [low: number, high: number] | null;
  readonly pValue: number | null;
  /** Whether both have the same tasks, which are compared one by one. */
  readonly isPaired: boolean;
}

/** The differences of runs from the first one. */
export interface RunComparison {
  readonly differences: readonly RunDifference[];
}

/** One metric over the steps of a run. A bucket holds several steps when there are more steps than requested points. */
export interface MetricSeries {
  readonly name: string;
  /** Mean of each bucket; null without a value. */
  readonly mean: readonly (number | null)[];
  /** Minimum and maximum of each bucket; absent when every bucket holds one step. */
  readonly low?: readonly (number | null)[];
  readonly high?: readonly (number | null)[];
}

/** The metrics of a run. */
export interface RunMetrics {
  /** The last step of each bucket. */
  readonly steps: readonly number[];
  /** The end of each bucket in Unix milliseconds. */
  readonly timesMs: readonly number[];
  /** Number of steps before down-sampling. */
  readonly totalSteps: number;
  /** Number of steps in a bucket. */
  readonly bucketSize: number;
  readonly series: readonly MetricSeries[];
}

/** A cell of the heat map: the rollouts of one task in one step. */
export interface TaskCell {
  readonly step: number;
  /** Mean reward; null when no rollout has one. */
  readonly reward: number | null;
  /** Difference between the highest and the lowest reward: 0 gives no learning signal. */
  readonly spread: number | null;
  readonly rollouts: number;
  readonly failed: number;
}

/** A row of the heat map. */
export interface TaskRow {
  readonly taskIndex: number;
  /** The start of the task's input as JSON. */
  readonly preview: string;
  /** The start of the first text in the task's input; the preview without a text. */
  readonly text: string;
  /** In order of step; steps without the task are absent. */
  readonly cells: readonly TaskCell[];
}

/** The training rollouts of a run by task and step. */
export interface TaskMap {
  readonly steps: readonly number[];
  readonly tasks: readonly TaskRow[];
  /** Range of the cells' rewards; null without rewards. */
  readonly range: readonly [low: number, high: number] | null;
}
