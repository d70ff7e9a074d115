import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { frameworks } from '../matrix/frameworks.ts';
import { failingExamples } from '../matrix/readme-examples.ts';
import { findSnippets } from '../readme-snippets.ts';
import { runCommand } from '../verify/run-command.ts';
import type { PackageManager } from './package-managers.ts';

/** Installed packages and the checks that they must pass. */
export interface Installation {
  readonly name: string;
  /** The packages with versions; ours without one, for the latest. */
  readonly packages: readonly string[];
  /** The folder whose README examples must run. @default none */
  readonly examples?: string;
  /** A program of the installation that must run, with its arguments. @default none */
  readonly program?: readonly string[];
}

/** Each adapter with the current version of its framework only; the client; the trainer with its command and a short training. */
export const installations: readonly Installation[] = [
  ...frameworks
    .filter(({ age }) => age === 'current')
    .map(({ adapter, packages }) => ({
      name: `@agentlightning/${adapter}`,
      packages: [
        `@agentlightning/${adapter}`,
        ...Object.entries(packages).map(([name, version]) => `${name}@${version}`),
      ],
      examples: `packages/${adapter}`,
    })),
  { name: '@agentlightning/client', packages: ['@agentlightning/client'], examples: 'packages/client' },
  {
    name: '@agentlightning/rewards',
    packages: ['@agentlightning/rewards', 'ajv@8.20.0'],
    examples: 'packages/rewards',
  },
  {
    name: '@agentlightning/environments',
    packages: ['@agentlightning/environments'],
    examples: 'packages/environments',
  },
  {
    name: '@agentlightning/trainer',
    packages: ['@agentlightning/trainer', '@agentlightning/fetch', 'openai@7.55.0'],
    examples: 'apps/trainer',
    program: ['agl', '--version'],
  },
  { name: 'agentlightning', packages: ['agentlightning'], program: ['agentlightning', '--version'] },
];

/** The fresh project of a check. */
export interface CheckedProject {
  readonly manager: PackageManager;
  readonly registry: string;
  /** The project's folder, which must not exist. */
  readonly folder: string;
}

/** Installs in a fresh project from the registry, and runs the examples there. Returns the problems. */
export async function installationProblems(
  { packages, examples, program }: Installation,
  { manager, registry, folder }: CheckedProject,
): Promise<readonly string[]> {
  await mkdir(folder, { recursive: true });
  const manifest = JSON.stringify({ name: 'a-users-project', private: true, type: 'module' }, null, 2);
  for (const [name, text] of Object.entries({ 'package.json': manifest, ...manager.files(registry) })) {
    await writeFile(join(folder, name), text);
  }
  // pnpm resolves only direct dependencies, and examples import core and others too.
  const direct = manager.name === 'pnpm' ? [...packages, ...otherImports(packages, examples)] : packages;
  const added = await runCommand([...manager.add, ...direct], { cwd: folder });
  if (!added.isOk) return [`${manager.name} cannot install ${direct.join(' ')}:\n${added.output}`];
  const problems = examples === undefined ? [] : await failingExamples(examples, folder);
  if (program === undefined) return problems;
  const run = await runCommand([...manager.execute, ...program], { cwd: folder });
  const isVersion = /^\d+\.\d+\.\d+$/m.test(run.output);
  return run.isOk && isVersion ? problems : [...problems, `${program.join(' ')} with ${manager.name}:\n${run.output}`];
}

/** The packages that the examples of a package import, besides those given. */
function otherImports(packages: readonly string[], examples: string | undefined): readonly string[] {
  if (examples === undefined) return [];
  const code = findSnippets(`${examples}/`).flatMap(({ code: text, isRun }) => (isRun ? [text] : []));
  const imports = code.flatMap((text) =>
    [...text.matchAll(/ from '((?:@[^/']+\/)?[^/'.][^/']*)/g)].map((match) => match[1] ?? ''),
  );
  const isOther = (name: string): boolean =>
    !name.startsWith('node:') && !packages.some((given) => given === name || given.startsWith(`${name}@`));
  return [...new Set(imports.filter(isOther))];
}
