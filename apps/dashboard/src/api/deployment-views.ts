import type { DeploymentChange, DeploymentState } from '@agentlightning/core/protocol';

/** The verdict on a candidate, or on one of its quantities. */
export type VerdictView = 'better' | 'worse' | 'not-shown' | 'unknown';

/** A deployment in a list. */
export interface DeploymentSummary {
  readonly name: string;
  readonly live: string | null;
  readonly candidate: DeploymentState['candidate'];
  /** Of the candidate; unknown without one. */
  readonly verdict: VerdictView;
  /** The last change; null before the first. */
  readonly lastChange: DeploymentChange | null;
}

/** The deployments of a store. */
export interface DeploymentList {
  readonly items: readonly DeploymentSummary[];
}

/** An assessment of a candidate by one quantity. Means and bounds are null where they are unknown. */
export interface QuantityView {
  /** `score`, `failures`, `latency`, `cost`, or a part of the reward of scorers, such as `score/tone`. */
  readonly name: string;
  readonly verdict: VerdictView;
  readonly live: number | null;
  readonly candidate: number | null;
  readonly liveUsers: number;
  readonly candidateUsers: number;
  readonly low: number | null;
  readonly high: number | null;
}

/** An assessment of a candidate. */
export interface AssessmentView {
  readonly timeMs: number;
  readonly verdict: VerdictView;
  readonly quantities: readonly QuantityView[];
}

/** One deployment. */
export interface DeploymentDetail extends DeploymentSummary {
  readonly versions: DeploymentState['versions'];
  /** Newest first. */
  readonly history: DeploymentState['history'];
  /** The assessments of the candidate, or of the last one, oldest first. */
  readonly assessments: readonly AssessmentView[];
}
