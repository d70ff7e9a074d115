/**
 * `pnpm test:vllm`: installs vLLM for the CPU in a separate environment, and runs the tests of the Python runtime that need it.
 * Flags go to pytest, such as `-k grpo`.
 *
 * It needs Python 3.11, gcc and 8 GB of memory. The first time, 1 GB of packages and SmolLM2 (90 MB) are downloaded.
 *
 * @module
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import path from 'node:path';
import { preparePython, vllmEnvironment } from '../python-environment.ts';
import { repositoryRoot } from '../repository-files.ts';
import { fetchSmolLM2 } from '../smollm2/fetch-smollm2.ts';

async function main(): Promise<number> {
  const environment = await preparePython(vllmEnvironment);
  if ('missing' in environment) {
    process.stderr.write(`${environment.missing}\n`);
    return 1;
  }
  const { python } = environment;
  const model = await fetchSmolLM2(python, path.join(repositoryRoot, 'node_modules/.cache'));
  const flags = process.argv.slice(2).filter((flag) => flag !== '--');
  const child = spawn(python, ['-m', 'pytest', '-m', 'vllm', '-p', 'no:cacheprovider', '--durations=0', ...flags], {
    cwd: path.join(repositoryRoot, 'apps/gpu-runtime'),
    stdio: 'inherit',
    env: { ...process.env, ...settings, AGL_SMOLLM2: model },
  });
  const [code] = (await once(child, 'exit')) as [number | null];
  return code ?? 1;
}

/** A small key-value cache: vLLM otherwise reserves half of the memory for each server. */
const settings: Readonly<Record<string, string>> = {
  PYTHONPATH: 'src',
  PYTHONDONTWRITEBYTECODE: '1',
  HF_HUB_OFFLINE: '1',
  TOKENIZERS_PARALLELISM: 'false',
  VLLM_CPU_KVCACHE_SPACE: '1',
};

process.exitCode = await main();
