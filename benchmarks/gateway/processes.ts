import { spawn, spawnSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import path from 'node:path';
import { freePort } from '../../tools/free-port.ts';
import { interopEnvironments, preparePython } from '../../tools/python-environment.ts';
import { cpuMsOf, forkModule } from '../child-process.ts';

/** Resource usage of a gateway's process. */
export interface Usage {
  readonly rssBytes: number;
  /** JavaScript memory after garbage collection. */
  readonly heapBytes: number;
  readonly spanCount: number;
}

/** A gateway in a separate process. */
export interface GatewayProcess {
  /** Base URLs, one for each attempt. */
  readonly urls: readonly string[];
  /** Collects garbage first, which takes time: not to be called during a measurement. */
  usage(): Promise<Usage>;
  /** CPU time so far, in milliseconds. */
  cpuMs(): number;
  close(): Promise<void>;
}

/** A server of this benchmark in a separate process. */
export interface ServerProcess {
  /** Base URL for calls. */
  readonly url: string;
  close(): Promise<void>;
}

/** A proxy of another project. */
export interface Peer {
  readonly name: 'agl-server' | 'LiteLLM';
  /** Base URL for calls. */
  readonly url: string;
  /** Required API key; null for none. */
  readonly key: string | null;
  readonly hasStreams: boolean;
  /** CPU time so far, in milliseconds. */
  cpuMs(): number;
  close(): Promise<void>;
}

const modulePath = (file: string): string => path.join(import.meta.dirname, file);

/** Starts the model server. */
export async function startUpstream(): Promise<ServerProcess> {
  const { ready, close } = await forkModule<{ readonly port: number }>(modulePath('upstream.ts'));
  return { url: `http://127.0.0.1:${ready.port}/v1`, close };
}

/** Starts a gateway with a file store. */
export async function startGateway(options: {
  readonly file: string;
  readonly upstreamUrl: string;
  readonly attemptCount: number;
}): Promise<GatewayProcess> {
  const { file, upstreamUrl, attemptCount } = options;
  const args = [file, upstreamUrl, String(attemptCount)];
  const module = await forkModule<{ readonly urls: readonly string[] }>(modulePath('gateway-process.ts'), args);
  const { ready, request, cpuMs, close } = module;
  return { urls: ready.urls, usage: () => request('usage'), cpuMs, close };
}

/** Starts the minimal recording proxy with a separate database file. */
export async function startFloorProxy(file: string, upstreamUrl: string): Promise<ServerProcess> {
  const { ready, close } = await forkModule<{ readonly url: string }>(modulePath('floor-proxy.ts'), [
    file,
    upstreamUrl,
  ]);
  return { url: ready.url, close };
}

/**
 * Starts `agl-server` of the Python package, installed as for the interop tests, with one rollout and one model server;
 * null without Python.
 */
export async function startAglServer(upstreamUrl: string): Promise<Peer | null> {
  const environment = await preparePython(interopEnvironments['agentlightning 1.0.2']);
  if ('missing' in environment) return null;
  const settings = ['host=127.0.0.1', 'hydra.run.dir=/tmp', 'hydra.output_subdir=null'];
  const model = ['hydra/job_logging=none', 'default_proxy.model_name=benchmark'];
  const { base, cpuMs, close } = await startServer({
    command: environment.python,
    args: (port) => ['-m', 'agentlightning.server', `port=${port}`, ...settings, ...model],
    healthPath: '/healthz',
  });
  await post(`${base}/api/models`, [{ model: 'benchmark', endpoint: upstreamUrl }]);
  await post(`${base}/api/rollouts`, [{ rollout_id: 'a', input: {} }]);
  const url = `${base}/proxy/rollout/a/attempt/0/mode/train/openai/v1`;
  return { name: 'agl-server', url, key: null, hasStreams: false, cpuMs, close };
}

async function post(url: string, body: unknown): Promise<void> {
  const response = await fetch(url, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(body),
  });
  if (response.status !== 201) throw new Error(`${url} returned ${response.status}: ${await response.text()}`);
}

/** Options of LiteLLM's proxy. */
export interface LitellmOptions {
  /** The `litellm` program, on the PATH or by its path. */
  readonly command: string;
  readonly upstreamUrl: string;
  /** A folder for its configuration. */
  readonly folder: string;
}

/** Starts LiteLLM's proxy with one model server, one worker and default settings, without recording. Null if not installed. */
export async function startLitellm({ command, upstreamUrl, folder }: LitellmOptions): Promise<Peer | null> {
  if (spawnSync(command, ['--version'], { stdio: 'ignore' }).error !== undefined) return null;
  const key = `sk-${randomBytes(24).toString('hex')}`;
  const config = path.join(folder, 'litellm.json');
  const parameters = { model: 'openai/benchmark', api_base: upstreamUrl, api_key: 'none' };
  // JSON is valid YAML.
  writeFileSync(config, JSON.stringify({ model_list: [{ model_name: 'benchmark', litellm_params: parameters }] }));
  const { base, cpuMs, close } = await startServer({
    command,
    args: (port) => ['--config', config, '--host', '127.0.0.1', '--port', String(port)],
    environment: { LITELLM_MASTER_KEY: key, LITELLM_TELEMETRY: 'False' },
    healthPath: '/health/liveliness',
  });
  return { name: 'LiteLLM', url: `${base}/v1`, key, hasStreams: true, cpuMs, close };
}

/** How to start a server on a port. */
interface ServerCommand {
  readonly command: string;
  readonly args: (port: number) => readonly string[];
  readonly environment?: Readonly<Record<string, string>>;
  /** The path that responds when the server is ready. */
  readonly healthPath: string;
}

/** Starts a server of another project. Resolves when it is ready; throws when it exits before. */
async function startServer({ command, args, environment, healthPath }: ServerCommand): Promise<{
  readonly base: string;
  cpuMs(): number;
  close(): Promise<void>;
}> {
  const port = await freePort();
  const child = spawn(command, args(port), { stdio: 'ignore', env: { ...process.env, ...environment } });
  const exited = once(child, 'exit');
  const base = `http://127.0.0.1:${port}`;
  while (!(await isReady(`${base}${healthPath}`))) {
    if (child.exitCode !== null) throw new Error(`${command} ended with code ${child.exitCode}`);
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
  return {
    base,
    cpuMs: () => cpuMsOf(child),
    close: async () => {
      child.kill('SIGTERM');
      await exited;
    },
  };
}

async function isReady(url: string): Promise<boolean> {
  try {
    await fetch(url);
    return true;
  } catch {
    return false;
  }
}
