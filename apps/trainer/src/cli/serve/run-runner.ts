import { existsSync } from 'node:fs';
import path from 'node:path';
import { AgentLightningError, type Store } from '@agentlightning/core';
import { addressText } from '@agentlightning/core/internal';
import { instrumentOptions, operationalMetrics } from '@agentlightning/core/metrics';
import type { AttemptTokenRequest } from '@agentlightning/core/protocol';
import { newId } from '@agentlightning/core/store';
import { StoreClient } from '@agentlightning/core/store-client';
import { WorkerPool } from '@agentlightning/runner/internal/workers';
import type { pino } from 'pino';
import { Gauge, type Registry } from 'prom-client';
import { type CommandTelemetry, withTelemetry } from '../../metrics/command-telemetry.ts';
import { tokensOfStoreFile } from '../../runtime/attempt-secret.ts';
import { externalGateway } from '../../runtime/open-gateway.ts';
import { waitForStore } from '../../runtime/wait-for-store.ts';
import { agentWorkerEntry, runnerStatistics } from '../../workers/start-runner.ts';
import { openCommandMetrics } from '../telemetry/command-metrics.ts';
import { attemptTokensFromEnvironment } from './attempt-token-secret.ts';
import { serverLog } from './server-log.ts';

/** The flags of `agl runner`. */
export interface RunnerFlags {
  readonly store: string;
  readonly gateway?: string;
  readonly agent: string;
  /** Names of variables. */
  readonly agentEnv?: readonly string[];
  readonly run?: string;
  readonly processes: number;
  readonly concurrency: number;
  /** A port, or `host:port`, of the Prometheus metrics. */
  readonly metrics?: string;
  readonly maxRollouts?: number;
  /** Milliseconds. */
  readonly idle?: number;
  readonly id?: string;
  /** Milliseconds. */
  readonly lease: number;
  /** Milliseconds. */
  readonly grace: number;
  /** Milliseconds. */
  readonly wait: number;
}

/** Runs agents until the process is stopped or the agent cannot be loaded, then returns running rollouts to the queue. */
export async function runRunner(flags: RunnerFlags): Promise<void> {
  await withTelemetry('agl-runner', (telemetry) => runWith(flags, telemetry));
}

async function runWith(flags: RunnerFlags, { registry, logStream }: CommandTelemetry): Promise<void> {
  const log = serverLog('agl-runner', logStream);
  const agentFile = path.resolve(flags.agent);
  if (!existsSync(agentFile)) throw missingAgent(agentFile);
  const closeMetrics = await openCommandMetrics(registry, flags.metrics);
  const stop = stopSignals();
  const wait = { timeoutMs: flags.wait, onWait: (message: string) => log.warn(message), signal: stop.first };
  const location = { url: flags.store, apiKey: process.env['AGL_STORE_KEY'] ?? null };
  let store: Store | null = null;
  try {
    store = await waitForStore(location, wait);
    const gatewayUrl = flags.gateway === undefined ? undefined : (await externalGateway(flags.gateway, wait)).baseUrl;
    const createAttemptToken = await attemptTokenSource(store, flags.store);
    if (createAttemptToken === undefined)
      log.warn('the store has no AGL_TOKEN_SECRET: agents have no tokens for a gateway');
    await serveAgents({ flags, store, agentFile, gatewayUrl, createAttemptToken, log, stop, registry });
  } catch (error) {
    // Stopped during the wait.
    if (!stop.first.aborted) throw error;
  } finally {
    stop.release();
    await store?.close();
    await closeMetrics();
  }
}

interface AgentService {
  readonly flags: RunnerFlags;
  readonly store: Store;
  readonly agentFile: string;
  readonly gatewayUrl: string | undefined;
  readonly createAttemptToken: ((request: AttemptTokenRequest) => Promise<string>) | undefined;
  readonly log: pino.Logger;
  readonly stop: StopSignals;
  readonly registry: Registry;
}

async function serveAgents({ flags, store, agentFile, log, stop, registry, ...endpoint }: AgentService): Promise<void> {
  const { processes, concurrency, run: runId = null, id: workerId = newId('worker'), lease: leaseMs, grace } = flags;
  const failure = new AbortController();
  const done = new AbortController();
  const pool = new WorkerPool({
    program: { entry: agentWorkerEntry(), args: [agentFile], environment: flags.agentEnv ?? null },
    store,
    ...endpoint,
    workers: processes,
    concurrency,
    workerId,
    leaseMs,
    runId,
    maxRollouts: flags.maxRollouts ?? null,
    idleMs: flags.idle ?? null,
    onDone: (reason) => done.abort(reason),
    statistics: runnerStatistics(runId),
    onOutput: (line) => void process.stderr.write(`${line}\n`),
    onError: ({ code, message }) => log.warn({ code }, message),
    onFailure: (error) => failure.abort(error),
  });
  new Gauge({
    ...instrumentOptions(operationalMetrics.runnerRunningAttempts),
    registers: [registry],
    collect() {
      this.set(pool.running);
    },
  });
  pool.start();
  log.info({ runner: workerId, store: addressText(flags.store), run: runId, processes, concurrency }, 'runner is up');
  process.stdout.write(`${JSON.stringify({ type: 'ready', runner: workerId })}\n`);
  await aborted(AbortSignal.any([stop.first, failure.signal, done.signal]));
  if (done.signal.aborted) log.info({ reason: String(done.signal.reason) }, 'runner has nothing more to do');
  const graceMs = failure.signal.aborted ? 0 : grace;
  log.info({ running: pool.running, graceMs }, 'runner is draining');
  const hurry = (): void => void pool.stop(0);
  stop.second.addEventListener('abort', hurry, { once: true });
  if (stop.second.aborted) hurry();
  await pool.stop(graceMs);
  log.info('runner has left');
  failure.signal.throwIfAborted();
}

async function aborted(signal: AbortSignal): Promise<void> {
  if (signal.aborted) return;
  await new Promise((resolve) => signal.addEventListener('abort', resolve, { once: true }));
}

/** Creates tokens with the secret of this environment or of the store's file, or by the store server. */
async function attemptTokenSource(store: Store, url: string): Promise<AgentService['createAttemptToken']> {
  const tokens = attemptTokensFromEnvironment() ?? (await tokensOfStoreFile(url));
  if (tokens !== null) return (request) => tokens.create(request);
  if (!(store instanceof StoreClient) || !(await hasSecret(store))) return undefined;
  return (request) => store.createAttemptToken(request);
}

/** Whether a store server can sign tokens: it then responds that the attempt does not exist. */
async function hasSecret(store: StoreClient): Promise<boolean> {
  try {
    await store.createAttemptToken({ rolloutId: newId('rollout'), attemptId: newId('attempt') });
    return true;
  } catch (error) {
    const code = AgentLightningError.isInstance(error) ? error.code : 'INTERNAL';
    if (code === 'NOT_FOUND') return true;
    if (code === 'PERMISSION_DENIED') return false;
    throw error;
  }
}

/** The signals that stop a process: the first one and the second one. */
interface StopSignals {
  readonly first: AbortSignal;
  readonly second: AbortSignal;
  readonly release: () => void;
}

function stopSignals(): StopSignals {
  const first = new AbortController();
  const second = new AbortController();
  const onSignal = (): void => (first.signal.aborted ? second : first).abort();
  process.on('SIGINT', onSignal).on('SIGTERM', onSignal);
  return {
    first: first.signal,
    second: second.signal,
    release: () => void process.off('SIGINT', onSignal).off('SIGTERM', onSignal),
  };
}

function missingAgent(file: string): AgentLightningError {
  return new AgentLightningError({
    code: 'CONFIG',
    message: `agent not found: ${file}`,
    remedy: 'Pass the module or configuration file with the agent: `agl runner --agent path/to/agent.ts`.',
  });
}
