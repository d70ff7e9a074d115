import type { Attempt, Rollout, Span } from '@agentlightning/core';
import type { SubjectOptions } from './evaluate-options.ts';
import type { ScriptedAnswer } from './scripted-endpoint.ts';

/** Options of a few rollouts in development. */
export interface DevOptions extends SubjectOptions {
  /** How many of the first training tasks, or the tasks themselves. @default 3 */
  readonly tasks?: number | readonly unknown[];
  /**
   * The answers of a scripted model, in the order of the model calls; rollouts then run one after another. The model rejects
   * what a real one rejects, and calls beyond the script. @default the model of `of`
   */
  readonly script?: readonly ScriptedAnswer[];
}

/** The result of a few rollouts in development. */
export interface DevReport {
  /** The run in the store that has the rollouts. */
  readonly runId: string;
  /** In the order of the tasks. */
  readonly rollouts: readonly DevRollout[];
  /** What prevents training, of the run as a whole. */
  readonly problems: readonly string[];
  /** The URL of the store. It may contain a password: print it with `addressText` of core. */
  readonly storeUrl: string;
}

/** A rollout in development. */
export interface DevRollout {
  readonly rollout: Rollout;
  readonly attempts: readonly Attempt[];
  /** The spans of the latest attempt. */
  readonly spans: readonly Span[];
  /** The primary dimension of its reward; null without one. */
  readonly reward: number | null;
  /** What prevents training on it: the error of the agent, no model call, no reward. */
  readonly problems: readonly string[];
}
