import type { Attempt, Rollout, Span } from '@agentlightning/core';
import type { SubjectOptions } from './evaluate-options.ts';
import type { ScriptedAnswer } from './scripted-endpoint.ts';

/** Options of a few rollouts in development. */
export interface DevOptions extends SubjectOptions {
  /** Number of training tasks, from the first, or the tasks themselves. @default 3 */
  readonly tasks?: number | readonly unknown[];
  /**
   * Responses of a scripted model, in the order of the model calls; rollouts then run sequentially. It rejects the same
   * invalid requests as a real model, and calls beyond the script. @default the model of `of`
   */
  readonly script?: readonly ScriptedAnswer[];
}

/** The result of a few rollouts in development. */
export interface DevReport {
  /** The run of the rollouts in the store. */
  readonly runId: string;
  /** In the order of the tasks. */
  readonly rollouts: readonly DevRollout[];
  /** Problems that prevent training: those of the rollouts with their ids, then those of the run as a whole. */
  readonly problems: readonly string[];
  /** The URL of the store. It may contain a password: print it with `addressText` of core. */
  readonly storeUrl: string;
}

/** A rollout in development. */
export interface DevRollout {
  /** The rollout as it ended. */
  readonly rollout: Rollout;
  /** Its attempts, in order. */
  readonly attempts: readonly Attempt[];
  /** The spans of the latest attempt. */
  readonly spans: readonly Span[];
  /** The primary dimension of its reward; null without one. */
  readonly reward: number | null;
  /** Problems that prevent training on it: an error of the agent, no model call, no reward. */
  readonly problems: readonly string[];
}
