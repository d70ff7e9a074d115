import type { JsonObject, RewardValue, RolloutEndpoint, RolloutMode } from '@agentlightning/core';
import type { NamedResources } from '@agentlightning/core/store';

/** The second argument of an agent. Most agents do not use it. */
export interface AgentContext {
  /** Id of the rollout. */
  readonly rolloutId: string;
  /** Id of the attempt. */
  readonly attemptId: string;
  /** The number of the attempt, from 1. */
  readonly attemptNumber: number;
  /** The purpose of the rollout; null if unspecified. */
  readonly mode: RolloutMode | null;
  /** Metadata of the rollout. */
  readonly metadata: JsonObject | null;
  /** The model endpoints and prompts of this rollout, by name. Endpoints are specific to the attempt. */
  readonly resources: NamedResources;
  /** The attempt's model endpoint, for clients without an adapter; null without one. */
  readonly endpoint: RolloutEndpoint | null;
  /**
   * The attempt's access token, for child processes that record spans themselves: the bearer token for the store, for example
   * over OTLP, and for the gateway. Null if the runner creates none.
   */
  readonly attemptToken: string | null;
  /** Aborts on timeout, on cancellation of the rollout and when the runner stops: pass it to long operations. */
  readonly signal: AbortSignal;
}

/** An agent's return value: a reward, as a number or by dimension; nothing if the agent emitted its rewards. */
// biome-ignore lint/suspicious/noConfusingVoidType: an agent without a return statement is of type void.
export type AgentResult = RewardValue | null | undefined | void;

/**
 * The function that a user writes: performs a task and returns the reward of the outcome, or its output where a configured
 * reward scores it.
 *
 * @example
 * ```ts
 * const agent: Agent<{ question: string; answer: string }> = async (task) => {
 *   const reply = await ask(task.question);
 *   return reply === task.answer ? 1 : 0;
 * };
 * ```
 */
export type Agent<TTask = unknown, TOutput = AgentResult> = (
  task: TTask,
  context: AgentContext,
) => TOutput | Promise<TOutput>;
