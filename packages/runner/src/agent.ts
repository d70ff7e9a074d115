import type { JsonObject, NamedResources, RewardValue, RolloutEndpoint, RolloutMode } from '@agentlightning/core';

/** What an agent gets beside its task. Most agents need none of it. */
export interface AgentContext {
  readonly rolloutId: string;
  readonly attemptId: string;
  /** Which try this is, from 1. */
  readonly attemptNumber: number;
  /** What the rollout is for; null when it was not said. */
  readonly mode: RolloutMode | null;
  readonly metadata: JsonObject | null;
  /** The model endpoints and prompts of this rollout, by name. Endpoints are the attempt's own. */
  readonly resources: NamedResources;
  /** The attempt's own model endpoint, for clients without an adapter; null when there is none. */
  readonly endpoint: RolloutEndpoint | null;
  /**
   * The attempt's own key, for programs that the agent starts and that record spans themselves: as bearer of what they
   * send to the store, by OTLP for example; the gateway takes it too. Null where the runner makes none.
   */
  readonly attemptToken: string | null;
  /** Aborts when the time is up, the rollout is cancelled or the runner stops: pass it on to what takes long. */
  readonly signal: AbortSignal;
}

/** What an agent returns: the reward, as a number or by dimension; nothing when it emitted its rewards itself. */
// biome-ignore lint/suspicious/noConfusingVoidType: an agent without a return statement is of type void.
export type AgentResult = RewardValue | null | undefined | void;

/**
 * The one thing a user writes: runs a task and returns how good the outcome is.
 *
 * @example
 * ```ts
 * const agent: Agent<{ question: string; answer: string }> = async (task) => {
 *   const reply = await ask(task.question);
 *   return reply === task.answer ? 1 : 0;
 * };
 * ```
 */
export type Agent<TTask = unknown> = (task: TTask, context: AgentContext) => AgentResult | Promise<AgentResult>;
