import type { Store } from '@agentlightning/core';
import { type EnqueueRolloutRequest, newId } from '@agentlightning/core/store';
import type { AttemptOutcome } from './attempt-outcome.ts';
import { runAttempt } from './run-attempt.ts';
import { Runner } from './runner.ts';
import type { AttemptOptions, RunnerOptions, RunnerSummary } from './runner-options.ts';
import { RunnerServices } from './runner-services.ts';

/**
 * Claims rollouts and runs the agent on them concurrently, until `signal` aborts.
 *
 * A number that the agent returns is the reward of the rollout. An agent that throws, hangs or returns an invalid reward
 * fails only its attempt; the rollout's configuration decides on a retry.
 *
 * @returns the number of attempts by ending
 * @throws AgentLightningError when the store rejects the runner; VALIDATION when the options are invalid
 *
 * @example
 * ```ts
 * const stop = new AbortController();
 * const done = runRollouts({ store, agent, concurrency: 16, signal: stop.signal });
 * // …
 * stop.abort();
 * console.log(await done);
 * ```
 */
export async function runRollouts<TTask = unknown>(options: RunnerOptions<TTask>): Promise<RunnerSummary> {
  return new Runner(options).run();
}

/** Options of {@link runTask}. */
export interface RunTaskOptions<TTask> extends AttemptOptions<TTask> {
  /** The store of the rollout. */
  readonly store: Store;
  /** The task and the other fields of its rollout. */
  readonly task: EnqueueRolloutRequest;
  /** Ends the attempt; the rollout then returns to the queue. @default never */
  readonly signal?: AbortSignal;
}

/**
 * Runs the agent on one task immediately, without the queue, to try an agent out.
 *
 * @example
 * ```ts
 * const { ending, reward } = await runTask({ store, agent, task: { input: { question: '6 × 7?' } } });
 * ```
 */
export async function runTask<TTask = unknown>(options: RunTaskOptions<TTask>): Promise<AttemptOutcome> {
  const rollout = await options.store.startRollout({ ...options.task, workerId: newId('worker') });
  const hardStop = options.signal ?? new AbortController().signal;
  return runAttempt({ rollout, options, services: new RunnerServices(options), hardStop });
}
