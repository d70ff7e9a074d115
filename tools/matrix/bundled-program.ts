import { existsSync } from 'node:fs';
import { mkdir, rm, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { runCommand } from '../verify/run-command.ts';
import type { MatrixBundler } from './bundlers.ts';
import type { ModuleFormat } from './runtimes.ts';

/** Limit for one run of a bundler, in milliseconds. */
const bundleTimeoutMs = 300_000;

/** A program to bundle. */
export interface BundleInput {
  /** Its file in a user's project. */
  readonly entry: string;
  readonly format: ModuleFormat;
  /** The folder of the matrix. */
  readonly home: string;
  /** Unique among the programs of the matrix. */
  readonly name: string;
}

/**
 * Bundles a program into a folder where no packages are installed.
 *
 * @returns the file to run
 */
export async function bundleProgram(
  bundler: MatrixBundler,
  { entry, format, home, name }: BundleInput,
): Promise<string> {
  const outfile = join(home, 'bundles', name, `program.${format === 'esm' ? 'mjs' : 'cjs'}`);
  await rm(dirname(outfile), { recursive: true, force: true });
  await mkdir(dirname(outfile), { recursive: true });
  const cwd = await installBundler(bundler, join(home, 'bundlers'));
  const command = ['node', 'bundle.mjs', entry, outfile, format];
  const { isOk, output } = await runCommand(command, { cwd, timeoutMs: bundleTimeoutMs });
  if (!isOk) throw new Error(`Bundling failed: ${entry} with ${bundler.title}.\n${output}`);
  return outfile;
}

const installations = new Map<string, Promise<string>>();

/** Installs a bundler and its script if necessary, and returns the folder. */
function installBundler(bundler: MatrixBundler, folder: string): Promise<string> {
  const installation = installations.get(bundler.name) ?? install(bundler, folder);
  installations.set(bundler.name, installation);
  return installation;
}

async function install({ name, title, packages, script }: MatrixBundler, folder: string): Promise<string> {
  const home = join(folder, `${name}-${Object.values(packages).join('-')}`);
  const done = join(home, 'installed');
  if (!existsSync(done)) {
    await rm(home, { recursive: true, force: true });
    await mkdir(home, { recursive: true });
    await writeFile(join(home, 'package.json'), JSON.stringify({ name: 'a-bundler', private: true }));
    const names = Object.entries(packages).map(([dependency, version]) => `${dependency}@${version}`);
    const flags = ['--no-audit', '--no-fund', '--prefer-offline'];
    const { isOk, output } = await runCommand(['npm', 'install', ...flags, ...names], { cwd: home });
    if (!isOk) throw new Error(`Installation failed: ${title}.\n${output}`);
    await writeFile(done, '');
  }
  await writeFile(join(home, 'bundle.mjs'), script);
  return home;
}
