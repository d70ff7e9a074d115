import { AgentLightningError, type Run, type Store } from '@agentlightning/core';
import { runRollouts } from '@agentlightning/runner';
import type { ResolvedConfig } from '../config/resolve-config.ts';
import type { TrainingListener } from '../training-event.ts';

/** A runner at work on a run's rollouts. */
export interface StartedRunner {
  /** Resolves with the reason when the runner itself breaks; an agent that throws does not break it. */
  readonly failed: Promise<AgentLightningError>;
  readonly stop: () => Promise<void>;
}

/** Starts a runner in this process that works on the run's rollouts until it is stopped. */
export function startRunner(options: {
  readonly config: ResolvedConfig;
  readonly store: Store;
  readonly run: Run;
  readonly emit: TrainingListener;
}): StartedRunner {
  const { config, store, run, emit } = options;
  const controller = new AbortController();
  let reportFull: (error: AgentLightningError) => void = () => undefined;
  // The runner waits for room by itself; a person has to make some, so the run stops and says so.
  const full = new Promise<AgentLightningError>((resolve) => {
    reportFull = resolve;
  });
  const onError = (error: unknown): void => {
    const known = asRunnerError(error);
    if (known.code === 'STORE_FULL') reportFull(known);
    else emit({ type: 'warning', message: known.message });
  };
  const done = runRollouts({
    store,
    agent: config.agent,
    runId: run.runId,
    concurrency: config.concurrency,
    signal: controller.signal,
    graceMs: 0,
    events: { onError, onSpanFailure: ({ error }) => onError(error) },
  });
  const broken = done.then(
    () => new Promise<never>(() => undefined),
    (error: unknown) => asRunnerError(error),
  );
  return {
    failed: Promise.race([broken, full]),
    stop: async () => {
      controller.abort();
      await done.catch(() => undefined);
    },
  };
}

function asRunnerError(error: unknown): AgentLightningError {
  if (AgentLightningError.isInstance(error)) return error;
  return new AgentLightningError({ code: 'INTERNAL', message: `the runner broke: ${String(error)}`, cause: error });
}
