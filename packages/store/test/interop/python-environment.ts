import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync } from 'node:fs';
import { mkdir, mkdtemp, readFile, rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';

const run = promisify(execFile);

/** The Python that has the package, or why there is none. */
export type PythonEnvironment = { readonly python: string } | { readonly missing: string };

/** Where the environments are kept, one for each content of the requirements: where no tool looks for sources. */
const cacheFolder = join(import.meta.dirname, '../../node_modules/.cache/interop');

/**
 * Makes a virtual environment with Agent Lightning 0.3 and what its store needs, once for each content of
 * `requirements.txt`. The file names every package, so that nothing that the rest of Agent Lightning needs comes along.
 *
 * @returns why it is missing where there is no Python to make it with
 */
export async function preparePython(): Promise<PythonEnvironment> {
  const requirements = join(import.meta.dirname, 'requirements.txt');
  const fingerprint = createHash('sha256')
    .update(await readFile(requirements))
    .digest('hex')
    .slice(0, 12);
  const environment = join(cacheFolder, fingerprint);
  const python = join(environment, 'bin', 'python');
  if (existsSync(python)) return { python };
  const missing = await whyUnusable('python3');
  if (missing !== null) return { missing };
  await mkdir(cacheFolder, { recursive: true });
  // Made aside and moved as a whole: an interrupted installation leaves nothing, and of two at a time the first counts.
  const made = await mkdtemp(`${environment}-`);
  await run('python3', ['-m', 'venv', made]);
  const install = ['install', '--quiet', '--no-deps', '--disable-pip-version-check', '-r', requirements];
  await run(join(made, 'bin', 'python'), ['-m', 'pip', ...install], { timeout: 10 * 60_000, maxBuffer: 2 ** 26 });
  await rename(made, environment).catch(async (error: unknown) => {
    if (!existsSync(python)) throw error;
    await rm(made, { recursive: true, force: true });
  });
  return { python };
}

async function whyUnusable(python: string): Promise<string | null> {
  try {
    const check = 'import sys, venv, ensurepip; print(sys.version_info >= (3, 11))';
    const { stdout } = await run(python, ['-c', check]);
    return stdout.trim() === 'True' ? null : `${python} is older than 3.11`;
  } catch (error) {
    const isAbsent = error instanceof Error && 'code' in error && error.code === 'ENOENT';
    return isAbsent ? `there is no ${python}` : `${python} has no venv (Debian: apt-get install python3-venv)`;
  }
}
