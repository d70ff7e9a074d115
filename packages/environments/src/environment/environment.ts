import type { JsonObject, JsonValue } from '@agentlightning/core';

/** What an agent does: it calls a tool of the environment, or it writes a message. */
export type EnvironmentAction =
  | { readonly type: 'tool-call'; readonly name: string; readonly arguments: JsonObject }
  | { readonly type: 'message'; readonly text: string };

/** The result of an action. */
export interface EnvironmentStep {
  /** What the agent sees. Text of an invalid action says what is wrong with it, so that the agent can correct it. */
  readonly observation: string;
  /** The reward of the action; null where the environment gives none, which differs from 0. */
  readonly reward: number | null;
  /** Whether the episode is over. */
  readonly done: boolean;
}

/** A tool that an environment offers. */
export interface EnvironmentTool {
  /** Unique within the environment. */
  readonly name: string;
  /** For the model. */
  readonly description: string;
  /** The JSON schema of the arguments, an object. */
  readonly parameters: JsonObject;
}

/** What an operation of an environment receives. */
export interface OperationContext {
  /** Aborts when the rollout ends, and at the time limit of the operation. */
  readonly signal: AbortSignal;
}

/** What the start of an episode receives. */
export interface ResetContext extends OperationContext {
  /** From 0 to 2³¹ − 1. It is derived from the task: all rollouts of a task start in the same world. */
  readonly seed: number;
}

/**
 * A world in which an agent acts, for one episode at a time. A rollout has its own instance, whose operations are called
 * one after another.
 *
 * A thrown error means that the environment is broken: the rollout fails, as a failure of the infrastructure. What the agent
 * does wrong is an observation or a reward instead.
 */
export interface Environment<TTask> {
  /**
   * Starts a new episode, of which nothing depends on an earlier one.
   *
   * @returns the first observation, with what the task asks for
   */
  reset(task: TTask, context: ResetContext): Promise<string>;
  /** The tools of the episode, valid after `reset`; none where actions are messages only. */
  tools(): readonly EnvironmentTool[];
  /** Performs an action. */
  step(action: EnvironmentAction, context: OperationContext): Promise<EnvironmentStep>;
  /** The state of the episode, for people and tests. Agents do not see it. */
  state(context: OperationContext): Promise<JsonValue>;
  /** Releases everything, also after a failed operation. Closing twice has no effect. */
  close(): Promise<void>;
}

/**
 * Creates the environments of rollouts.
 *
 * @example
 * ```ts
 * const corridor: EnvironmentFactory<{ length: number }, true> = {
 *   name: 'corridor',
 *   givesRewards: true,
 *   create: () => new Corridor(),
 *   close: async () => {},
 * };
 * ```
 */
export interface EnvironmentFactory<TTask, TGivesRewards extends boolean = boolean> {
  /** For messages and traces. */
  readonly name: string;
  /** Whether its steps have rewards. Otherwise the configuration's `reward` scores what the agent returns. */
  readonly givesRewards: TGivesRewards;
  /** A new instance, which is independent of all others. Resources are acquired by its `reset`. */
  create(): Environment<TTask>;
  /** Releases what the instances share, such as a common server. The next instance acquires it again. */
  close(): Promise<void>;
}
