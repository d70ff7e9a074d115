import { AgentLightningError, type Run, type Store } from '@agentlightning/core';
import { runRollouts } from '@agentlightning/runner';
import type { SharedSettings } from '../config/shared-settings.ts';
import type { TrainingListener } from '../training-event.ts';

/**
 * Starts a runner in this process for the rollouts of the run.
 *
 * @param options.onFailure - called when the runner fails; errors of agents are not failures of the runner
 * @returns a function that stops the runner, and requeues the rollouts in progress
 */
export function startRunner(options: {
  readonly config: Pick<SharedSettings, 'agent' | 'concurrency' | 'attemptTokens'>;
  readonly store: Store;
  readonly run: Run;
  readonly emit: TrainingListener;
  readonly onFailure: (error: AgentLightningError) => void;
}): () => Promise<void> {
  const { config, store, run, emit, onFailure } = options;
  const { attemptTokens } = config;
  const controller = new AbortController();
  const onError = (error: unknown): void => {
    const known = asRunnerError(error);
    // The runner would retry forever: an operator has to free disk space.
    if (known.code === 'STORE_FULL') onFailure(known);
    else emit({ type: 'warning', message: known.message });
  };
  const done = runRollouts({
    store,
    agent: config.agent,
    runId: run.runId,
    concurrency: config.concurrency,
    signal: controller.signal,
    graceMs: 0,
    ...(attemptTokens === null ? {} : { createAttemptToken: (request) => attemptTokens.create(request) }),
    events: { onError, onSpanFailure: ({ error }) => onError(error) },
  }).then(
    () => undefined,
    (error: unknown) => onFailure(asRunnerError(error)),
  );
  return async () => {
    controller.abort();
    await done;
  };
}

function asRunnerError(error: unknown): AgentLightningError {
  if (AgentLightningError.isInstance(error)) return error;
  return new AgentLightningError({ code: 'INTERNAL', message: `the runner failed: ${String(error)}`, cause: error });
}
