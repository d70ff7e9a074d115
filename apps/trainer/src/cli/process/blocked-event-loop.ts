import { AgentLightningError, currentRollout } from '@agentlightning/core';
import type { Agent } from '@agentlightning/runner';
import { watchEventLoop } from '@agentlightning/runner/internal/workers';
import { isPromptSearch, type ResolvedRun } from '../../config/resolve-run.ts';

import { runsInProcess } from '../../workers/start-runner.ts';
import { exitCodes } from '../exit-code.ts';

/** The shortest deadline, in milliseconds: garbage collection and a busy machine may delay the event loop too. */
const minDeadlineMs = 3000;

/** Maximum length of a shown task, in characters. */
const maxTaskLength = 200;

/** A run with monitored agents. */
export interface WatchedRun {
  /** The same run, with an agent that records its tasks. */
  readonly config: ResolvedRun;
  readonly stop: () => Promise<void>;
}

/**
 * Ends the process when an agent that runs in it blocks its event loop for longer than the timeout of rollouts.
 *
 * @param onBlocked - called with an error that names the rollout, before the process ends
 */
export function watchForBlockedEventLoop(
  config: ResolvedRun,
  onBlocked: (error: AgentLightningError) => void,
): WatchedRun {
  const settings = isPromptSearch(config) ? config.shared : config;
  const { agent, limits } = settings;
  if (!runsInProcess(settings)) return { config, stop: async () => undefined };
  const tasks = new Map<string, unknown>();
  const noting: Agent<unknown, unknown> = async (task, context) => {
    tasks.set(context.rolloutId, task);
    try {
      return await agent(task, context);
    } finally {
      tasks.delete(context.rolloutId);
    }
  };
  const deadlineMs = Math.max(limits.rolloutTimeoutMs, minDeadlineMs);
  const { stop, setLimits } = watchEventLoop({
    exitCode: exitCodes.blocked,
    onBlocked: (where) => onBlocked(blockedError({ where, deadlineMs, tasks })),
    nativeCode: {
      fd: 2,
      message: `[TIMEOUT] Native code has blocked the event loop for more than ${deadlineMs} ms; the process is killed.`,
    },
  });
  setLimits({ minBlockedMs: deadlineMs, earliestMs: 0, maxBlockedMs: Number.POSITIVE_INFINITY });
  const watched = isPromptSearch(config)
    ? { ...config, shared: { ...config.shared, agent: noting } }
    : { ...config, agent: noting };
  return { config: watched, stop };
}

function blockedError(blocked: {
  readonly where: string;
  readonly deadlineMs: number;
  readonly tasks: ReadonlyMap<string, unknown>;
}): AgentLightningError {
  const { where, deadlineMs, tasks } = blocked;
  const rolloutId = currentRollout()?.rolloutId ?? null;
  const task = rolloutId === null ? '' : `, task ${JSON.stringify(tasks.get(rolloutId))?.slice(0, maxTaskLength)}`;
  const subject = rolloutId === null ? 'Code outside of a rollout' : `Rollout ${rolloutId}${task}`;
  return new AgentLightningError({
    code: 'TIMEOUT',
    message: `${subject} blocks the event loop for more than ${deadlineMs} ms, in ${where}`,
    remedy: 'Let the agent await, or run its computation in a worker thread or a child process.',
    details: { rolloutId },
  });
}
