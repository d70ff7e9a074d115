import { execFile } from 'node:child_process';
import { once } from 'node:events';
import { createServer } from 'node:net';
import { promisify } from 'node:util';
import { type Finding, fine } from './finding.ts';

/** Checks that a server of `agl` can listen on its default port. */
export async function checkPort(
  port: number,
  { user, remedy }: { readonly user: string; readonly remedy: string },
): Promise<Finding> {
  const name = `port ${port}`;
  const server = createServer();
  try {
    server.listen(port, '127.0.0.1');
    await once(server, 'listening');
    return fine(name, `free for ${user}`);
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? String(error.code) : String(error);
    const detail = code === 'EADDRINUSE' ? `in use; ${user} listens on it by default` : `not available: ${code}`;
    return { name, status: 'warning', detail, remedy };
  } finally {
    server.close();
  }
}

/** Warns of secrets of ours in the environment: processes of the same user, such as agents, can read it. */
export function checkSecrets(environment: Readonly<Record<string, string | undefined>>): readonly Finding[] {
  const names = Object.keys(environment).filter(
    (name) => /^AGL_(\w+_)?(KEY|SECRET|TOKEN)$/.test(name) && (environment[name] ?? '') !== '',
  );
  if (names.length === 0) return [];
  const detail = `${names.sort().join(', ')} in the environment: agents that run as the same user can read it`;
  const remedy = 'Run agents that you do not trust with agl runner, as another user or on another machine.';
  return [{ name: 'secrets', status: 'warning', detail, remedy }];
}

/** Response timeout of the driver in milliseconds. */
const gpuTimeoutMs = 10_000;

/** Lists the NVIDIA GPUs of this machine. None is needed here: training may run elsewhere. */
export async function checkGpu(): Promise<Finding> {
  try {
    const query = ['--query-gpu=name,memory.total', '--format=csv,noheader'];
    const { stdout } = await promisify(execFile)('nvidia-smi', query, { timeout: gpuTimeoutMs });
    return fine('gpu', stdout.trim().split('\n').join('; '));
  } catch (error) {
    const isMissing = error instanceof Error && 'code' in error && error.code === 'ENOENT';
    const detail = isMissing
      ? 'none on this machine'
      : `nvidia-smi failed: ${error instanceof Error ? error.message : error}`;
    const remedy =
      'The embedded runtime and prompt optimisation need none. For a larger model, set `runtime` to a GPU machine that runs agentlightning-runtime.';
    return { name: 'gpu', status: isMissing ? 'skipped' : 'warning', detail, remedy };
  }
}
