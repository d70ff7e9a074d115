import { interopEnvironments, preparePython } from '../../tools/python-environment.ts';
import { type Peer, startPeer } from './peer.ts';

/**
 * Starts `agl-server` of the Python package, installed as for the interop tests, with one rollout and one model server;
 * null where there is no Python.
 */
export async function startAglServer(upstreamUrl: string): Promise<Peer | null> {
  const environment = await preparePython(interopEnvironments['agentlightning 1.0.2']);
  if ('missing' in environment) return null;
  const settings = ['host=127.0.0.1', 'hydra.run.dir=/tmp', 'hydra.output_subdir=null'];
  const model = ['hydra/job_logging=none', 'default_proxy.model_name=benchmark'];
  const { base, cpuMs, close } = await startPeer({
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
  const answer = await fetch(url, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(body),
  });
  if (answer.status !== 201) throw new Error(`${url} answered ${answer.status}: ${await answer.text()}`);
}
