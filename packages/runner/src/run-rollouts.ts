import { type EnqueueRolloutRequest, newId } from '@agentlightning/core/store';
import type { AttemptOutcome } from './attempt-outcome.ts';
import { runAttempt } from './run-attempt.ts';
import { Runner } from './runner.ts';
import type { AttemptOptions, RunnerOptions, RunnerSummary } from './runner-options.ts';
import { RunnerServices } from './runner-services.ts';

/**
 * Claims rollouts and runs the agent on them, many at a time, until `signal` aborts.
 *
 * A number that the agent returns is the rollout's reward. An agent that throws, hangs or returns something that
 * is no reward fails its attempt and nothing else; whether it is tried again is up to the rollout's configuration.
 *
 * @returns how many attempts ended, and how
 * @throws AgentLightningError when the store refuses the runner; VALIDATION when the options make no sense
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

/** How to run one task. */
export interface RunTaskOptions<TTask> extends AttemptOptions<TTask> {
  /** The task, and whatever else a rollout is started with. */
  readonly task: EnqueueRolloutRequest;
  /** Ends the attempt; the rollout then waits in the queue. @default never */
  readonly signal?: AbortSignal;
}

/**
 * Runs the agent on one task at once, past the queue: for trying an agent out.
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
