/**
 * Packages that only some steps need, and that are large: `pnpm install` leaves them out, and these steps install them.
 * Each has a folder here, with its `package.json` and its lock file.
 *
 * @module
 */
import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdir, readdir, readFile, rm, symlink } from 'node:fs/promises';
import { dirname, join, relative } from 'node:path';
import { promisify } from 'node:util';
import type { TestProject } from 'vitest/node';
import { repositoryRoot } from '../repository-files.ts';

const run = promisify(execFile);

/** A folder beside this file. */
export type Extra =
  | 'assemblyscript'
  | 'buf'
  | 'claude-code'
  | 'codex'
  | 'postgresql'
  | 'pyright'
  | 'stryker'
  | 'vega-datasets';

/** What the tests of a project need, by the name of the project. */
export const extrasOfTests: Readonly<Record<string, readonly Extra[]>> = {
  'claude-agent-porter': ['claude-code'],
  'claude-agent-sdk': ['claude-code'],
  gateway: ['claude-code'],
  rag: ['vega-datasets'],
  runtime: ['buf'],
  'spider-sql': ['vega-datasets'],
  store: ['postgresql'],
  trainer: ['postgresql'],
};

/** The global setup of tests: installs what they need. Without a registry, those tests say what is missing. */
export async function setup(project: TestProject): Promise<void> {
  try {
    for (const extra of extrasOfTests[project.name] ?? []) await installExtra(extra);
  } catch (error) {
    if (process.env.CI !== undefined) throw error;
    console.warn(String(error));
  }
}

/** The installations of this process, so that two users of one wait for the same. */
const installations = new Map<Extra, Promise<void>>();

/**
 * Installs an extra for this machine, unless it is there, where every package of the repository finds it: in the root's
 * `node_modules`. Nothing of it is run.
 */
export async function installExtra(extra: Extra): Promise<void> {
  const installation = installations.get(extra) ?? installOnce(extra);
  installations.set(extra, installation);
  await installation;
}

async function installOnce(extra: Extra): Promise<void> {
  const folder = join(repositoryRoot, 'tools/extras', extra);
  const options = ['--ignore-workspace', '--config.auto-install-peers=false'];
  options.push('--frozen-lockfile', '--ignore-scripts', '--prefer-offline');
  await run('pnpm', ['install', ...options], { cwd: folder, maxBuffer: 2 ** 26 });
  const installed = join(folder, 'node_modules');
  for (const name of await packageNames(installed)) {
    const target = join(installed, name);
    await link(target, join(repositoryRoot, 'node_modules', name));
    for (const [command, file] of await commandsOf(target)) {
      await link(join(target, file), join(repositoryRoot, 'node_modules/.bin', command));
    }
  }
}

/** The names of the packages in a folder `node_modules`, with their scopes. */
async function packageNames(folder: string): Promise<readonly string[]> {
  const names = (await readdir(folder)).filter((name) => !name.startsWith('.'));
  const nested = names.map(async (name) =>
    name.startsWith('@') ? (await readdir(join(folder, name))).map((inner) => `${name}/${inner}`) : [name],
  );
  return (await Promise.all(nested)).flat();
}

async function commandsOf(folder: string): Promise<readonly (readonly [string, string])[]> {
  const { bin = {} } = JSON.parse(await readFile(join(folder, 'package.json'), 'utf8')) as {
    readonly bin?: Readonly<Record<string, string>>;
  };
  return Object.entries(bin);
}

async function link(target: string, path: string): Promise<void> {
  if (existsSync(path)) return;
  await mkdir(dirname(path), { recursive: true });
  // A link to a version that is no longer there.
  await rm(path, { force: true });
  await symlink(relative(dirname(path), target), path);
}
