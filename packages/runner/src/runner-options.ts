import type { AgentLightningError, Clock, JsonValue, SpanInput } from '@agentlightning/core';
import type { AttemptTokenRequest } from '@agentlightning/core/protocol';
import type { SpanSinkFailure } from '@agentlightning/core/spans';
import type { AttemptedRollout } from '@agentlightning/core/store';
import type { Agent, AgentContext } from './agent.ts';
import type { AttemptOutcome } from './attempt-outcome.ts';
import type { RunnerStore } from './runner-store.ts';
import type { OutputScoring } from './score-output.ts';

/** Callbacks for runner events. Their errors are ignored. */
export interface RunnerEvents {
  /** A rollout was claimed, and its agent is about to start. */
  readonly onAttemptStart?: (rollout: AttemptedRollout) => void;
  /** An attempt ended, and its end is in the store. */
  readonly onAttemptEnd?: (outcome: AttemptOutcome) => void;
  /** An agent neither returned nor emitted a reward: the rollout succeeds, but is excluded from training. */
  readonly onMissingReward?: (rollout: AttemptedRollout) => void;
  /** A span arrived after the end of its attempt and was dropped. */
  readonly onLateSpan?: (span: SpanInput) => void;
  /** Spans could not be written; the failure has whether they are retried. */
  readonly onSpanFailure?: (failure: SpanSinkFailure) => void;
  /** An error outside an attempt's outcome, such as an unreachable store or a failed hook. The runner continues. */
  readonly onError?: (error: AgentLightningError) => void;
}

/** The argument of a hook. */
export interface HookedRollout {
  /** The rollout with its attempt. */
  readonly rollout: AttemptedRollout;
  /** What the agent receives. */
  readonly context: AgentContext;
}

/**
 * Functions that run before and after the agent, within the rollout: their spans are recorded. Their errors are reported to
 * `onError` and otherwise ignored.
 */
export interface RunnerHooks {
  /** Called before the agent runs. */
  readonly onRolloutStart?: (rollout: HookedRollout) => void | Promise<void>;
  /** `error` is null when the agent succeeded. */
  readonly onRolloutEnd?: (
    rollout: HookedRollout & { readonly error: AgentLightningError | null },
  ) => void | Promise<void>;
}

/** Options of an attempt. */
export interface AttemptOptions<TTask> {
  /** The store of the rollouts. */
  readonly store: RunnerStore;
  /** The agent to run. */
  readonly agent: Agent<TTask, unknown>;
  /**
   * Computes the reward from what the agent returned, after the agent and within the rollout's timeout. Without it, the agent
   * returns the reward. @default none
   */
  readonly reward?: OutputScoring;
  /** Validates a task before the agent receives it; an error fails the attempt. @default the task unchanged */
  readonly parseTask?: (input: JsonValue) => TTask;
  /** For rollouts without a timeout, in milliseconds; null for no limit. @default null */
  readonly timeoutMs?: number | null;
  /** The heartbeat interval, in milliseconds. @default 10000 */
  readonly heartbeatMs?: number;
  /** The timeout of a hook, in milliseconds. @default 30000 */
  readonly hookTimeoutMs?: number;
  /** The name of the `proxy_llm` resource for model calls. @default the first one */
  readonly endpointResource?: string;
  /**
   * The base URL of the gateway for this runner, if it differs from the one in the endpoints: from another network, or
   * through a proxy. @default that of the endpoint
   */
  readonly gatewayUrl?: string;
  /**
   * Creates the attempt's token, which authorises the agent for this attempt only, at the gateway and at the store. Both
   * `StoreClient` (`createAttemptToken`) and `AttemptTokens` (`create`) provide such a function. @default none: agents use
   * the key of their endpoint
   */
  readonly createAttemptToken?: (request: AttemptTokenRequest) => Promise<string>;
  /** The dimension to train on, for agents that return several. @default `primary`, or the only one */
  readonly primaryReward?: string;
  /** Functions around each rollout. */
  readonly hooks?: RunnerHooks;
  /** Receives events of the runner. */
  readonly events?: RunnerEvents;
  /** @default systemClock */
  readonly clock?: Clock;
}

/** Options of a runner. */
export interface RunnerOptions<TTask = unknown> extends AttemptOptions<TTask> {
  /** The number of concurrent rollouts, at least 1. @default 8 */
  readonly concurrency?: number;
  /** Only rollouts of this training run. @default any */
  readonly runId?: string;
  /** The runner's id in the store; each slot appends its number. @default a new id */
  readonly workerId?: string;
  /** Stops the runner: it claims nothing more and waits for running attempts. @default never */
  readonly signal?: AbortSignal;
  /**
   * Grace period for running agents of a stopped runner, in milliseconds; then their rollouts are returned.
   * @default 30000
   */
  readonly graceMs?: number;
  /** Maximum wait of one claim for an empty queue, in milliseconds. @default 10000 */
  readonly claimWaitMs?: number;
  /** Whether to end when the queue is empty and nothing is running, instead of waiting. @default false */
  readonly stopWhenIdle?: boolean;
}

/** The number of ended attempts, by ending. */
export interface RunnerSummary {
  /** Number of rollouts that succeeded. */
  readonly succeeded: number;
  /** Number of rollouts that failed. */
  readonly failed: number;
  /** Number of rollouts that took too long. */
  readonly timeout: number;
  /** Number of rollouts that were cancelled. */
  readonly cancelled: number;
  /** Number of rollouts that were returned to the queue. */
  readonly returned: number;
}
