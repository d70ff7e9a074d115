import { hostname } from 'node:os';
import { fileURLToPath } from 'node:url';
import { AgentLightningError, type JsonObject, type Run, type Store } from '@agentlightning/core';
import { newId } from '@agentlightning/core/store';
import { runRollouts } from '@agentlightning/runner';
import { WorkerPool } from '@agentlightning/runner/internal/workers';
import type { SharedSettings } from '../config/shared-settings.ts';
import { packageVersion } from '../events/package-version.ts';
import type { ServiceListener } from '../events/training-listener.ts';
import { watchRunners } from './watch-runners.ts';

/** The constant part of a runner's statistics; its worker pool adds the load. */
export function runnerStatistics(runId: string | null): JsonObject {
  return { kind: 'runner', version: packageVersion(), host: hostname(), pid: process.pid, run_id: runId };
}

/** The file of the worker processes' program. It is in the folder of this file, in the sources and in the bundle. */
export function agentWorkerEntry(): string {
  const extension = import.meta.url.endsWith('.ts') ? 'ts' : 'js';
  return fileURLToPath(new URL(`./agent-worker.${extension}`, import.meta.url));
}

/** Options of {@link startRunner}. */
export interface StartRunnerOptions {
  readonly config: Pick<
    SharedSettings,
    'agent' | 'agentFile' | 'agents' | 'rewards' | 'attemptTokens' | 'storeUrl' | 'limits'
  >;
  readonly store: Store;
  readonly run: Run;
  readonly emit: ServiceListener;
  /** Called when the runner fails; errors of agents are not failures of the runner. */
  readonly onFailure: (error: AgentLightningError) => void;
}

/** The trainer's event loop may be blocked by the computation of a batch. In milliseconds. */
const trainerLeaseMs = 30_000;

/** Whether agents run in this process: by configuration, or because they are functions of it. */
export function runsInProcess({ agentFile, agents }: Pick<SharedSettings, 'agentFile' | 'agents'>): boolean {
  return agents.inProcess || agentFile === null;
}

/**
 * Starts a runner for the rollouts of the run, in worker processes or in this one; without processes, watches the runners
 * elsewhere.
 *
 * @returns a function that stops the runner, and requeues the rollouts in progress
 */
export function startRunner(options: StartRunnerOptions): () => Promise<void> {
  const { config } = options;
  if (config.agents.processes === 0) {
    const { limits, storeUrl } = config;
    return watchRunners({ ...options, timeoutMs: limits.runnerTimeoutMs, storeUrl });
  }
  return runsInProcess(config) ? startInProcess(options) : startWorkers(options);
}

function startInProcess(options: StartRunnerOptions): () => Promise<void> {
  const { config, store, run, onFailure } = options;
  const { attemptTokens } = config;
  if (config.agents.env !== null) throw sharedEnvironment();
  const controller = new AbortController();
  const onError = errorHandler(options);
  const done = runRollouts({
    store,
    agent: config.agent,
    ...(config.rewards.scoring === null ? {} : { reward: config.rewards.scoring }),
    runId: run.runId,
    concurrency: config.agents.concurrency,
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

function startWorkers(options: StartRunnerOptions): () => Promise<void> {
  const { config, store, run, emit, onFailure } = options;
  const { agentFile, agents, attemptTokens } = config;
  const { env: environment, processes: workers, concurrency } = agents;
  const pool = new WorkerPool({
    program: { entry: agentWorkerEntry(), args: [agentFile ?? ''], environment },
    store,
    ...(attemptTokens === null ? {} : { createAttemptToken: (request) => attemptTokens.create(request) }),
    workers,
    concurrency,
    workerId: newId('worker'),
    leaseMs: trainerLeaseMs,
    statistics: runnerStatistics(run.runId),
    runId: run.runId,
    onOutput: (line) => emit({ type: 'agent-output', line }),
    onError: errorHandler(options),
    onFailure,
  });
  pool.start();
  return () => pool.stop(0);
}

function errorHandler({ emit, onFailure }: Pick<StartRunnerOptions, 'emit' | 'onFailure'>): (error: unknown) => void {
  return (error) => {
    const known = asRunnerError(error);
    // The runner would retry forever: an operator has to free disk space.
    if (known.code === 'STORE_FULL') onFailure(known);
    else emit({ type: 'warning', message: known.message });
  };
}

function sharedEnvironment(): AgentLightningError {
  return new AgentLightningError({
    code: 'CONFIG',
    message: 'agents.env has no effect on agents in this process, which have its whole environment',
    remedy:
      'Run agents in worker processes: a module with the agent, without `agents.inProcess`; or remove agents.env.',
  });
}

function asRunnerError(error: unknown): AgentLightningError {
  if (AgentLightningError.isInstance(error)) return error;
  return new AgentLightningError({ code: 'INTERNAL', message: `the runner failed: ${String(error)}`, cause: error });
}
