import { mkdir, readFile, rm, writeFile } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { runCommand } from '../verify/run-command.ts';
import type { MatrixFramework } from './frameworks.ts';
import { failingExamples } from './readme-examples.ts';

/** A user's project outside the workspace, with a framework and an adapter from its packed archive. */
export interface UserProject {
  readonly folder: string;
  /** Identifies the installed files. */
  readonly digest: string;
  /** The problems of the installation. */
  readonly problems: readonly string[];
}

/** The allowed dependencies of an adapter, in addition to those of the framework. */
const allowedDependencies: ReadonlySet<string> = new Set(['@agentlightning/core', 'eventsource-parser', 'zod']);

/** A cached installation without problems. */
interface Installed {
  readonly digest: string;
}

/**
 * Installs a framework with npm, then the adapter and core from their archives, checks the added dependencies, and runs the
 * README examples.
 *
 * @param folder the project folder, which is reused
 * @param archives the archives by package folder
 */
export async function installUserProject(
  framework: MatrixFramework,
  { folder, archives }: { readonly folder: string; readonly archives: ReadonlyMap<string, string> },
): Promise<UserProject> {
  const ours = ['core', framework.adapter].map((name) => archives.get(name) ?? '');
  const wantedBase = JSON.stringify(framework.packages);
  const digest = JSON.stringify({ packages: framework.packages, ours: ours.map((archive) => basename(archive)) });
  const seen = await readInstalled(join(folder, 'installed.json'));
  if (seen?.digest === digest) return { folder, digest, problems: [] };

  const before = await readInstalled(join(folder, 'framework.json'));
  if (before?.digest !== wantedBase) {
    await rm(folder, { recursive: true, force: true });
    await mkdir(folder, { recursive: true });
    const manifest = { name: 'a-users-project', private: true, dependencies: framework.packages };
    await writeFile(join(folder, 'package.json'), JSON.stringify(manifest, null, 2));
    await npm(folder, ['install']);
    await writeFile(join(folder, 'framework.json'), JSON.stringify({ digest: wantedBase }));
    await writeFile(join(folder, 'framework-tree.json'), JSON.stringify(await installedPackages(folder)));
  }
  await rm(join(folder, 'installed.json'), { force: true });
  const known = JSON.parse(await readFile(join(folder, 'framework-tree.json'), 'utf8')) as readonly InstalledPackage[];
  const problems = [...(await addOurs(folder, { ours, adapter: framework.adapter, known }))];
  // Examples are written for the current version.
  if (framework.age === 'current') problems.push(...(await failingExamples(`packages/${framework.adapter}`, folder)));
  // After a problem, such as a timeout on a busy machine, the next run tries again.
  if (problems.length === 0) await writeFile(join(folder, 'installed.json'), JSON.stringify({ digest }));
  return { folder, digest, problems };
}

interface InstalledPackage {
  readonly name: string;
  readonly version: string;
}

async function addOurs(
  folder: string,
  options: { readonly ours: readonly string[]; readonly adapter: string; readonly known: readonly InstalledPackage[] },
): Promise<readonly string[]> {
  const adapter = `@agentlightning/${options.adapter}`;
  const warnings = await npm(folder, ['install', ...options.ours]);
  const known = new Set(options.known.map(({ name, version }) => `${name}@${version}`));
  const added = (await installedPackages(folder)).filter(({ name, version }) => !known.has(`${name}@${version}`));
  const copies = added.filter(({ name }) => name === '@agentlightning/core').length;
  const tree = await runCommand(['npm', 'ls', '--all'], { cwd: folder });
  return [
    ...warnings.filter((line) => /peer|ERESOLVE/i.test(line)),
    ...added
      .filter(({ name }) => name !== adapter && !allowedDependencies.has(name))
      .map(({ name, version }) => `Unexpected dependency of ${adapter}: ${name} ${version}.`),
    ...(copies === 1 ? [] : [`Expected one copy of core, found ${copies}.`]),
    ...(tree.isOk ? [] : [`npm ls reported errors:\n${tree.output}`]),
  ];
}

/** Runs npm and returns its warnings. */
async function npm(folder: string, args: readonly string[]): Promise<readonly string[]> {
  const quiet = ['--no-audit', '--no-fund', '--loglevel=warn', '--prefer-offline'];
  const { isOk, output } = await runCommand(['npm', ...args, ...quiet], { cwd: folder });
  if (!isOk) throw new Error(`npm ${args.join(' ')} failed in ${folder}:\n${output}`);
  return output.split('\n').filter((line) => line.startsWith('npm warn'));
}

/** All installed packages; a nested duplicate is listed twice. */
async function installedPackages(folder: string): Promise<readonly InstalledPackage[]> {
  const text = await readFile(join(folder, 'node_modules/.package-lock.json'), 'utf8');
  const { packages } = JSON.parse(text) as {
    readonly packages: Readonly<Record<string, { readonly version: string }>>;
  };
  return Object.entries(packages).map(([path, { version }]) => {
    return { name: path.slice(path.lastIndexOf('node_modules/') + 'node_modules/'.length), version };
  });
}

async function readInstalled(file: string): Promise<Installed | null> {
  const text = await readFile(file, 'utf8').catch(() => null);
  return text === null ? null : (JSON.parse(text) as Installed);
}
