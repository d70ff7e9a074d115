import { AgentLightningError, type JsonObject, type JsonValue, type Run } from '@agentlightning/core';
import { backoffMs, isTransient, systemClock, withRetry } from '@agentlightning/core/internal';
import { z } from 'zod';
import { type MetricSink, metricValues } from './metric-sink.ts';

/** The tracking server of MLflow and its key. */
export interface MlflowServer {
  readonly url: string;
  /** The `Authorization` header; null without one. */
  readonly authorization: string | null;
}

/** Limits of one request of MLflow's REST API. */
const maxMetrics = 1000;
const maxParams = 100;
const maxParamLength = 500;

const maxTries = 5;
const timeoutMs = 30_000;

/** The server of `MLFLOW_TRACKING_URI`, with `MLFLOW_TRACKING_TOKEN`, or user name and password. */
export function mlflowServer(environment: NodeJS.ProcessEnv, url: string | undefined): MlflowServer {
  const token = environment['MLFLOW_TRACKING_TOKEN'];
  const name = environment['MLFLOW_TRACKING_USERNAME'];
  const password = environment['MLFLOW_TRACKING_PASSWORD'] ?? '';
  const basic = name ? `Basic ${Buffer.from(`${name}:${password}`).toString('base64')}` : null;
  const address = url ?? (environment['MLFLOW_TRACKING_URI'] || 'http://127.0.0.1:5000');
  if (!URL.canParse(address) || !/^https?:/.test(address)) {
    throw new AgentLightningError({
      code: 'CONFIG',
      message: `invalid address of an MLflow tracking server: ${address}`,
      remedy: 'Pass `--endpoint http://host:5000`, or set MLFLOW_TRACKING_URI to such an address.',
    });
  }
  return { url: address.replace(/\/+$/, ''), authorization: token ? `Bearer ${token}` : basic };
}

/**
 * Creates a run of MLflow with the configuration as its parameters.
 *
 * @throws AgentLightningError UNREACHABLE, or UPSTREAM_FAILED when the server rejects a request
 */
export async function openMlflowSink(server: MlflowServer, experiment: string, run: Run): Promise<MetricSink> {
  const experimentId = await findOrCreateExperiment(server, experiment);
  const created = await post(server, 'runs/create', {
    experiment_id: experimentId,
    run_name: run.name,
    start_time: Math.round(run.createTimeMs),
    tags: [{ key: 'agentlightning.run_id', value: run.runId }],
  });
  const { run_id: runId } = z.object({ run: z.object({ info: z.object({ run_id: z.string() }) }) }).parse(created)
    .run.info;
  const params = configurationEntries(run.config).map(([key, value]) => ({
    key: keyOf(key),
    value: value.slice(0, maxParamLength),
  }));
  for (const batch of batches(params, maxParams))
    await post(server, 'runs/log-batch', { run_id: runId, params: batch });
  return {
    write: async (points) => {
      const metrics = metricValues(points).map(({ name, value, step, timeMs }) => ({
        key: keyOf(name),
        value,
        step,
        timestamp: Math.round(timeMs),
      }));
      for (const batch of batches(metrics, maxMetrics)) {
        await post(server, 'runs/log-batch', { run_id: runId, metrics: batch });
      }
    },
    close: async ({ status, updateTimeMs }) => {
      await post(server, 'runs/update', { run_id: runId, ...endOf(status, updateTimeMs) });
      return `${server.url}/#/experiments/${experimentId}/runs/${runId}`;
    },
  };
}

async function findOrCreateExperiment(server: MlflowServer, name: string): Promise<string> {
  try {
    const path = `experiments/get-by-name?experiment_name=${encodeURIComponent(name)}`;
    const found = await request(server, path, { method: 'GET' });
    return z.object({ experiment: z.object({ experiment_id: z.string() }) }).parse(found).experiment.experiment_id;
  } catch (error) {
    if (!AgentLightningError.isInstance(error) || error.code !== 'NOT_FOUND') throw error;
    const created = await post(server, 'experiments/create', { name });
    return z.object({ experiment_id: z.string() }).parse(created).experiment_id;
  }
}

function endOf(status: Run['status'], timeMs: number): object {
  const end_time = Math.round(timeMs);
  switch (status) {
    case 'finished':
      return { status: 'FINISHED', end_time };
    case 'failed':
      return { status: 'FAILED', end_time };
    case 'stopped':
      return { status: 'KILLED', end_time };
    case 'queued':
    case 'running':
    case 'stopping':
      return { status: 'RUNNING' };
  }
}

/** MLflow accepts letters, digits and `_-. /:` in names. */
function keyOf(name: string): string {
  return name.replaceAll(/[^\w\-. /:]/g, '_').slice(0, 250);
}

function batches<TItem>(items: readonly TItem[], size: number): readonly (readonly TItem[])[] {
  return Array.from({ length: Math.ceil(items.length / size) }, (_, index) =>
    items.slice(index * size, (index + 1) * size),
  );
}

function post(server: MlflowServer, path: string, body: object): Promise<unknown> {
  const send = (): Promise<unknown> => request(server, path, { method: 'POST', body: JSON.stringify(body) });
  // Repeated metrics of a step are recorded twice by MLflow, and drawn as one.
  return withRetry(send, {
    clock: systemClock,
    delayMs: (error, failures) =>
      isTransient(error) && failures < maxTries ? backoffMs({ baseDelayMs: 500, maxDelayMs: 5000 }, failures) : null,
  });
}

async function request(
  { url, authorization }: MlflowServer,
  path: string,
  init: { readonly method: string; readonly body?: string },
): Promise<unknown> {
  const headers = { 'content-type': 'application/json', ...(authorization === null ? {} : { authorization }) };
  let response: Response;
  try {
    response = await fetch(`${url}/api/2.0/mlflow/${path}`, {
      ...init,
      headers,
      signal: AbortSignal.timeout(timeoutMs),
    });
  } catch (cause) {
    throw new AgentLightningError({
      code: 'UNREACHABLE',
      message: `the MLflow server ${url} cannot be reached`,
      remedy: 'Start it (`mlflow server`), or pass its address with --endpoint.',
      cause,
    });
  }
  const text = await response.text();
  if (response.ok) return JSON.parse(text);
  throw new AgentLightningError({
    code: response.status === 404 ? 'NOT_FOUND' : response.status >= 500 ? 'UNREACHABLE' : 'UPSTREAM_FAILED',
    message: `the MLflow server ${url} responded to ${path.split('?')[0]} with status ${response.status}: ${text.slice(0, 300)}`,
    remedy: 'Check the address, MLFLOW_TRACKING_TOKEN and the log of the server.',
  });
}

/** A configuration as names with dots and texts: `algorithm.type`, `grpo`. Lists are JSON. */
export function configurationEntries(config: JsonObject, prefix = ''): readonly (readonly [string, string])[] {
  return Object.entries(config).flatMap(([name, value]) => {
    const path = `${prefix}${name}`;
    if (isObject(value)) return configurationEntries(value, `${path}.`);
    return [[path, typeof value === 'string' ? value : JSON.stringify(value)] as const];
  });
}

function isObject(value: JsonValue | undefined): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
