import { existsSync } from 'node:fs';
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { installRuntime } from '../matrix/installed-runtime.ts';
import { runtimes } from '../matrix/runtimes.ts';
import { runCommand } from '../verify/run-command.ts';
import { configuredRegistry } from './local-registry.ts';

/** A package manager that users install with. */
export interface PackageManager {
  readonly name: 'npm' | 'pnpm' | 'yarn' | 'bun';
  /** The command that adds packages to a project. */
  readonly add: readonly string[];
  /** The command that runs a program of an installed package. */
  readonly execute: readonly string[];
  /** Files of the project that make our scope come from a registry; all other packages come from the configured one. */
  readonly files: (registry: string) => Readonly<Record<string, string>>;
}

const yarn = { name: '@yarnpkg/cli-dist', version: '4.18.1' } as const;

/** The package managers, installed from npm packages into a folder that is kept. */
export async function packageManagers(folder: string): Promise<readonly PackageManager[]> {
  const bunRuntime = runtimes.find(({ name }) => name === 'bun');
  if (bunRuntime === undefined) throw new Error('The matrix has no runtime named bun.');
  const [bun = ''] = await installRuntime(bunRuntime, folder);
  const yarnProgram = ['node', await installYarn(folder)];
  const configured = await configuredRegistry();
  const npmrc = (registry: string): Readonly<Record<string, string>> => ({
    '.npmrc': `@agentlightning:registry=${registry}\n`,
  });
  return [
    {
      name: 'npm',
      add: ['npm', 'install', '--no-audit', '--no-fund', '--prefer-offline', '--loglevel=error'],
      execute: ['npm', 'exec', '--offline', '--'],
      files: npmrc,
    },
    {
      name: 'pnpm',
      add: ['pnpm', 'add', '--prefer-offline'],
      execute: ['pnpm', 'exec'],
      files: (registry) => ({ ...npmrc(registry), 'pnpm-workspace.yaml': pnpmSettings }),
    },
    {
      name: 'yarn',
      add: [...yarnProgram, 'add'],
      execute: [...yarnProgram, 'run'],
      files: (registry) => ({ 'yarn.lock': '', '.yarnrc.yml': yarnSettings(registry, configured) }),
    },
    {
      name: 'bun',
      add: [bun, 'add', '--no-summary'],
      execute: [bun, 'x', '--no-install'],
      files: (registry) => ({ ...npmrc(registry), 'bunfig.toml': bunSettings }),
    },
  ];
}

/** pnpm waits a day before it installs a new version, and asks about build scripts. */
const pnpmSettings =
  "minimumReleaseAgeExclude: ['@agentlightning/*']\nallowBuilds: { esbuild: false, protobufjs: false }\n";

/** As for Yarn: a cache for each project. */
const bunSettings = '[install.cache]\ndir = ".bun-cache"\n';

function yarnSettings(registry: string, configured: string): string {
  return JSON.stringify({
    nodeLinker: 'node-modules',
    enableTelemetry: false,
    // The common cache knows packages by version only, and every rehearsal publishes 0.1.0.
    globalFolder: './.yarn-global',
    enableScripts: false,
    // Versions of the last days are quarantined otherwise: ours, and the newest of a framework.
    npmPreapprovedPackages: ['*', '@*/*'],
    npmRegistryServer: configured.replace(/\/$/, ''),
    npmScopes: { agentlightning: { npmRegistryServer: registry } },
    unsafeHttpWhitelist: ['127.0.0.1'],
  });
}

async function installYarn(folder: string): Promise<string> {
  const home = join(folder, `yarn-${yarn.version}`);
  const program = join(home, 'node_modules', yarn.name, 'bin/yarn.js');
  if (existsSync(program)) return program;
  await mkdir(home, { recursive: true });
  await writeFile(join(home, 'package.json'), JSON.stringify({ name: 'a-package-manager', private: true }));
  const flags = ['--ignore-scripts', '--no-audit', '--no-fund', '--loglevel=error'];
  const { isOk, output } = await runCommand(['npm', 'install', ...flags, `${yarn.name}@${yarn.version}`], {
    cwd: home,
  });
  if (!isOk) throw new Error(`Installation failed: ${yarn.name}@${yarn.version}.\n${output}`);
  return program;
}
