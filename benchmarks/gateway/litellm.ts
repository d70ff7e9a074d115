import { spawnSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import path from 'node:path';
import { type Peer, startPeer } from './peer.ts';

/** Where to find LiteLLM's proxy, and what it may use. */
export interface LitellmOptions {
  /** The `litellm` program, on the PATH or by its path. */
  readonly command: string;
  readonly upstreamUrl: string;
  /** A folder for its configuration. */
  readonly folder: string;
}

/**
 * Starts LiteLLM's proxy with one model server, one worker and everything else as it comes; it records nothing of the
 * calls. Null where it is not installed.
 */
export async function startLitellm({ command, upstreamUrl, folder }: LitellmOptions): Promise<Peer | null> {
  if (spawnSync(command, ['--version'], { stdio: 'ignore' }).error !== undefined) return null;
  // It starts with a key alone.
  const key = `sk-${randomBytes(24).toString('hex')}`;
  const config = path.join(folder, 'litellm.json');
  const parameters = { model: 'openai/benchmark', api_base: upstreamUrl, api_key: 'none' };
  // JSON is YAML as well.
  writeFileSync(config, JSON.stringify({ model_list: [{ model_name: 'benchmark', litellm_params: parameters }] }));
  const { base, cpuMs, close } = await startPeer({
    command,
    args: (port) => ['--config', config, '--host', '127.0.0.1', '--port', String(port)],
    environment: { LITELLM_MASTER_KEY: key, LITELLM_TELEMETRY: 'False' },
    healthPath: '/health/liveliness',
  });
  return { name: 'LiteLLM', url: `${base}/v1`, key, hasStreams: true, cpuMs, close };
}
