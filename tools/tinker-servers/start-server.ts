import { spawn } from 'node:child_process';
import { once } from 'node:events';
import path from 'node:path';
import { freePort } from '../free-port.ts';
import { repositoryRoot } from '../repository-files.ts';

const program = path.join(import.meta.dirname, 'servers.py');

/** A real server: its program, and the folder of a tiny model whose path is the model's name. */
export interface RealServerOptions {
  readonly kind: 'skyrl' | 'hatchery';
  readonly python: string;
  readonly folder: string;
}

/** A real Tinker server that may still be starting. */
export interface RealServer {
  /** Without `/api/v1`. */
  readonly url: string;
  readonly apiKey: string;
  /** Name of the model, and the folder with its tokenizer. */
  readonly model: string;
  close(): Promise<void>;
}

/** Programs of JAX that were compiled before: the first run compiles for minutes. */
const jaxCache = path.join(repositoryRoot, 'node_modules/.cache/jax');

const settings: Readonly<Record<string, string>> = {
  HF_HUB_OFFLINE: '1',
  TOKENIZERS_PARALLELISM: 'false',
  OMP_NUM_THREADS: '1',
  JAX_PLATFORMS: 'cpu',
  JAX_COMPILATION_CACHE_DIR: jaxCache,
  JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS: '0',
};

/** Starts a real Tinker server on loopback with a tiny Qwen3 of random weights. */
export async function startRealServer({ kind, python, folder }: RealServerOptions): Promise<RealServer> {
  const env = { ...process.env, ...settings };
  const model = path.join(folder, 'tiny-qwen3');
  const writing = spawn(python, [program, 'model', model], { stdio: ['ignore', 'ignore', 'ignore'], env });
  const [written] = (await once(writing, 'exit')) as [number | null];
  if (written !== 0) throw new Error(`The tiny model was not written: exit code ${written}`);
  const port = await freePort();
  const args = [program, kind, String(port), model, ...(kind === 'skyrl' ? [path.join(folder, 'skyrl')] : [])];
  // A process group: SkyRL starts its engine as another process.
  const server = spawn(python, args, { stdio: ['ignore', 'ignore', 'ignore'], detached: true, env });
  const exited = once(server, 'exit');
  const end = (): void => void (server.pid !== undefined && process.kill(-server.pid, 'SIGKILL'));
  process.once('exit', end);
  return {
    url: `http://127.0.0.1:${port}`,
    apiKey: 'tml-test',
    model,
    close: async () => {
      process.off('exit', end);
      end();
      await exited;
    },
  };
}
