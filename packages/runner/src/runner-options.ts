import type { AgentLightningError, AttemptedRollout, Clock, JsonValue, SpanInput, Store } from '@agentlightning/core';
import type { AttemptTokenRequest } from '@agentlightning/core/protocol';
import type { SpanSinkFailure } from '@agentlightning/core/spans';
import type { Agent, AgentContext } from './agent.ts';
import type { AttemptOutcome } from './attempt-outcome.ts';

/** Told of what a runner does. None of these may throw; what they throw is ignored. */
export interface RunnerEvents {
  /** A rollout was claimed and its agent is about to start. */
  readonly onAttemptStart?: (rollout: AttemptedRollout) => void;
  /** An attempt ended and the store knows. */
  readonly onAttemptEnd?: (outcome: AttemptOutcome) => void;
  /** An agent returned nothing and no reward was emitted: the rollout succeeds, but cannot be learned from. */
  readonly onMissingReward?: (rollout: AttemptedRollout) => void;
  /** A span came after its attempt had ended, and was dropped. */
  readonly onLateSpan?: (span: SpanInput) => void;
  /** Spans could not be written; whether they are tried again is in the failure. */
  readonly onSpanFailure?: (failure: SpanSinkFailure) => void;
  /** Something went wrong that is no attempt's outcome: the store cannot be reached, a hook threw. The runner goes on. */
  readonly onError?: (error: AgentLightningError) => void;
}

/** The rollout that a hook is called for. */
export interface HookedRollout {
  readonly rollout: AttemptedRollout;
  readonly context: AgentContext;
}

/**
 * Code that runs before and after the agent, within the rollout: what it emits is recorded. What it throws is
 * reported to `onError` and changes nothing.
 */
export interface RunnerHooks {
  readonly onRolloutStart?: (rollout: HookedRollout) => void | Promise<void>;
  /** `error` is null when the agent succeeded. */
  readonly onRolloutEnd?: (
    rollout: HookedRollout & { readonly error: AgentLightningError | null },
  ) => void | Promise<void>;
}

/** How attempts are run. */
export interface AttemptOptions<TTask> {
  readonly store: Store;
  readonly agent: Agent<TTask>;
  /** Checks a task before the agent gets it; what it throws fails the attempt. @default the task as it is */
  readonly parseTask?: (input: JsonValue) => TTask;
  /** For rollouts that have no timeout of their own, in milliseconds; null for no limit. @default null */
  readonly timeoutMs?: number | null;
  /** How often the store hears that an attempt is alive, in milliseconds. @default 10000 */
  readonly heartbeatMs?: number;
  /** How long a hook may take, in milliseconds. @default 30000 */
  readonly hookTimeoutMs?: number;
  /** The name of the `proxy_llm` resource that model calls are sent to. @default the first one there is */
  readonly endpointResource?: string;
  /**
   * Makes the agent's own key: a token with which it speaks for its attempt alone, at the gateway and at the store. A
   * `StoreClient` has one of that name, and so have `AttemptTokens` (`create`). @default none: agents get the key of
   * their endpoint
   */
  readonly createAttemptToken?: (request: AttemptTokenRequest) => Promise<string>;
  /** The dimension that is trained on, for agents that return several. @default `primary`, or the only one */
  readonly primaryReward?: string;
  readonly hooks?: RunnerHooks;
  readonly events?: RunnerEvents;
  /** @default systemClock */
  readonly clock?: Clock;
}

/** How a runner works. */
export interface RunnerOptions<TTask = unknown> extends AttemptOptions<TTask> {
  /** How many rollouts run at the same time, at least 1. @default 8 */
  readonly concurrency?: number;
  /** Only rollouts of this training run. @default any */
  readonly runId?: string;
  /** The runner's name in the store; every slot adds its number. @default a new id */
  readonly workerId?: string;
  /** Stops the runner: it claims no more, and waits for what runs. @default it never stops */
  readonly signal?: AbortSignal;
  /** How long a stopped runner waits for running agents before it gives their rollouts back, in milliseconds. @default 30000 */
  readonly graceMs?: number;
  /** How long one claim waits in an empty queue, in milliseconds. @default 10000 */
  readonly claimWaitMs?: number;
  /** Whether to end when the queue is empty and nothing runs, instead of waiting for more. @default false */
  readonly stopWhenIdle?: boolean;
}

/** How many attempts a runner ended, by ending. */
export interface RunnerSummary {
  readonly succeeded: number;
  readonly failed: number;
  readonly timeout: number;
  readonly cancelled: number;
  readonly returned: number;
}
