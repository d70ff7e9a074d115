/** What an audit of a run's reward found. */
export interface RunAudit {
  readonly runId: string;
  /** The measured steps with training rollouts, at most twelve, in order. */
  readonly steps: readonly number[];
  /** Number of stored rollouts that were read. */
  readonly rollouts: number;
  /** Measures of the training rollouts by step, and the held-out rewards by the step of their weights. */
  readonly series: readonly AuditSeries[];
  readonly findings: readonly AuditFinding[];
  /** The reward compared with a second judge, and with the labels of people; null without. */
  readonly judge: AuditAgreement | null;
  readonly people: AuditAgreement | null;
  /** What could not be measured, and why. */
  readonly notes: readonly string[];
}

/** A measure over the steps. */
export interface AuditSeries {
  readonly name: string;
  readonly isHeldOut: boolean;
  readonly steps: readonly number[];
  readonly values: readonly (number | null)[];
}

/** The kinds of findings of an audit. */
export type AuditCode =
  | 'proxy-diverges'
  | 'held-out-reward-falls'
  | 'length-drift'
  | 'truncated-responses'
  | 'format-failures'
  | 'repeated-text'
  | 'echoed-task'
  | 'constant-output'
  | 'duplicate-siblings'
  | 'judge-disagrees'
  | 'people-disagree'
  | 'length-bias'
  | 'position-bias';

/** A sign that the reward measures something else than it is meant to. */
export interface AuditFinding {
  readonly code: AuditCode;
  /** The observation, with its numbers and steps. */
  readonly message: string;
  /** The numbers of the message, by name. */
  readonly evidence: Readonly<Record<string, number>>;
  readonly remedy: string;
  /** The rollouts that most likely exploit the reward, at most five. */
  readonly rollouts: readonly AuditedRollout[];
}

/** A rollout of a finding. */
export interface AuditedRollout {
  readonly rolloutId: string;
  readonly step: number;
  readonly reward: number | null;
}

/** The order of rollouts by the reward and by another judgement. */
export interface AuditAgreement {
  /** Pairs of rollouts of which both orders prefer one: siblings by a judge, all rollouts with labels by people. */
  readonly pairs: number;
  /** The share of them in which both prefer the same one; null without pairs. */
  readonly agreement: number | null;
  /** Among the others, the share in which the reward prefers the longer response; null without such pairs. */
  readonly prefersLonger: number | null;
  /** Among the others, the share in which the reward prefers the earlier sibling; null without such pairs. */
  readonly prefersEarlier: number | null;
}
