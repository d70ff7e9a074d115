import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createServer } from 'node:net';
import { interopEnvironments, preparePython } from '../../tools/python-environment.ts';
import { cpuMsOf } from './processes.ts';

/** Python's own gateway, with one rollout and one model server. */
export interface AglServer {
  /** The base URL of an attempt. */
  readonly url: string;
  /** The CPU time that it has used so far, in milliseconds. */
  cpuMs(): number;
  close(): Promise<void>;
}

/** Starts `agl-server` of the Python package, installed as for the interop tests; null where there is no Python. */
export async function startAglServer(upstreamUrl: string): Promise<AglServer | null> {
  const environment = await preparePython(interopEnvironments['agentlightning 1.0.2']);
  if ('missing' in environment) return null;
  const port = await freePort();
  const settings = ['host=127.0.0.1', `port=${port}`, 'hydra.run.dir=/tmp', 'hydra.output_subdir=null'];
  const model = ['hydra/job_logging=none', 'default_proxy.model_name=benchmark'];
  const child = spawn(environment.python, ['-m', 'agentlightning.server', ...settings, ...model], { stdio: 'ignore' });
  const ended = once(child, 'exit');
  const base = `http://127.0.0.1:${port}`;
  await untilUp(`${base}/healthz`, child);
  await post(`${base}/api/models`, [{ model: 'benchmark', endpoint: upstreamUrl }]);
  await post(`${base}/api/rollouts`, [{ rollout_id: 'a', input: {} }]);
  return {
    url: `${base}/proxy/rollout/a/attempt/0/mode/train/openai/v1`,
    cpuMs: () => cpuMsOf(child),
    close: async () => {
      child.kill('SIGTERM');
      await ended;
    },
  };
}

async function untilUp(url: string, child: { readonly exitCode: number | null }): Promise<void> {
  for (;;) {
    if (child.exitCode !== null) throw new Error(`agl-server ended with code ${child.exitCode}`);
    const isUp = await fetch(url).then(
      () => true,
      () => false,
    );
    if (isUp) return;
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
}

async function post(url: string, body: unknown): Promise<void> {
  const answer = await fetch(url, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(body),
  });
  if (answer.status !== 201) throw new Error(`${url} answered ${answer.status}: ${await answer.text()}`);
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  server.close();
  await once(server, 'close');
  return typeof address === 'object' && address !== null ? address.port : 0;
}
