import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { preparePython, pythonEnvironments } from '../python-environment.ts';
import { fetchSmolLM2 } from './fetch-smollm2.ts';
import { startRuntime } from './start-runtime.ts';

/** Options of a training on SmolLM2. */
export interface SmolLM2Options {
  /** The folder of the example, with `agl.config.ts`. */
  readonly folder: string;
  /** The command of `agl`, one that uses a runtime. @default 'train' */
  readonly command?: 'train' | 'eval' | 'export';
  /** Flags of the command. */
  readonly flags: readonly string[];
  /** Folder with exported weights of the model, relative to `folder`, instead of the downloaded ones. */
  readonly weights?: string;
  /** Prepares tasks, with a Python that has pip. */
  readonly prepare?: (python: string) => Promise<void>;
}

/**
 * Trains an example on SmolLM2-135M-Instruct, on the CPU: downloads the model, starts the Python runtime with it, and runs
 * `agl train` there, or another command.
 *
 * It needs Python 3.11 or newer; the packages are installed into a separate environment. The first time, torch and the model
 * (90 MB) are downloaded.
 *
 * @returns the exit code
 */
export async function trainWithSmolLM2(options: SmolLM2Options): Promise<number> {
  const { folder, command = 'train', flags, weights, prepare } = options;
  const environment = await preparePython(pythonEnvironments['agentlightning-runtime']);
  if ('missing' in environment) {
    process.stderr.write(`${environment.missing}\n`);
    return 1;
  }
  const { python } = environment;
  const cache = path.join(folder, 'node_modules/.cache');
  const model = weights === undefined ? await fetchSmolLM2(python, cache) : path.join(folder, weights);
  await prepare?.(python);
  const runtime = await startRuntime(python, [
    ...['--model', `smollm2=${model}`, '--checkpoints', path.join(cache, 'checkpoints')],
    ...['--dtype', hasBfloat16() ? 'bfloat16' : 'float32'],
  ]);
  try {
    return await runAgl(folder, [command, ...flags.filter((flag) => flag !== '--'), '--runtime', runtime.address]);
  } finally {
    await runtime.stop();
  }
}

/**
 * Whether the processor computes in bfloat16: then it takes half the memory and a fraction of the time. Without such instructions it
 * takes several times as long as float32.
 */
function hasBfloat16(): boolean {
  const file = '/proc/cpuinfo';
  return existsSync(file) && /\b(?:avx512_bf16|amx_bf16|bf16)\b/.test(readFileSync(file, 'utf8'));
}

/** Ctrl+C also reaches the command, which stops gracefully; this process waits for it. */
async function runAgl(folder: string, args: readonly string[]): Promise<number> {
  const ignored = (): void => undefined;
  process.on('SIGINT', ignored).on('SIGTERM', ignored);
  const agl = path.join(folder, 'node_modules/@agentlightning/trainer/dist/cli/main.js');
  const child = spawn(process.execPath, [agl, ...args], { cwd: folder, stdio: 'inherit' });
  const [code] = (await once(child, 'exit')) as [number | null];
  return code ?? 1;
}
