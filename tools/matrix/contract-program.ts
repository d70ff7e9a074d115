import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { type BuildOptions, build, type Plugin } from 'esbuild';
import { repositoryRoot } from '../repository-files.ts';
import { type Cell, leftOutOf } from './cell.ts';
import type { MatrixFramework } from './frameworks.ts';
import type { ModuleFormat } from './runtimes.ts';

/** A program for a user's project, as one file. */
export interface ContractProgram {
  /** Empty, or what sets its tests apart in a report. */
  readonly name: string;
  readonly source: string;
}

/** The scenes that hold where an adapter is put in place for good, by an import, before the first of them. */
const registeredScenes =
  'a plain call|tools called in parallel|is part of the tool call|recorded like the whole|32 rollouts|was made before|NODE_ENV';

/**
 * Bundles the contract tests of an adapter into programs, as a user's own code would look: everything that comes from a
 * package stays an `import`, or a `require` in CommonJS. The first puts the adapter in place by its one line; in the
 * second, `import '@agentlightning/<adapter>/register'` is all there is, where an adapter has that.
 */
export async function contractPrograms(cell: Cell): Promise<readonly ContractProgram[]> {
  const { framework, bundler } = cell;
  // Bundlers are given ES modules, whatever they make of them.
  const format = bundler === null ? cell.format : 'esm';
  const leftOut = leftOutOf(cell).map(({ scene }) => scene);
  const name = `@agentlightning/${framework.adapter}`;
  const byLine = await bundleTests(framework, { format, leftOut, before: '', scenes: '', plugins: [] });
  const programs: ContractProgram[] = [{ name: '', source: byLine }];
  if (existsSync(join(repositoryRoot, 'packages', framework.adapter, 'src/register.ts'))) {
    const before = `import '${name}/register';`;
    const plugins = [withoutTheLine];
    const source = await bundleTests(framework, { format, leftOut, before, scenes: registeredScenes, plugins });
    programs.push({ name: `${name}/register: `, source });
  }
  return programs;
}

/** The package `vitest` of the matrix: one file without dependencies. */
export async function vitestStandIn(): Promise<string> {
  return await bundle({ entryPoints: [join(import.meta.dirname, 'stand-in/vitest.ts')], format: 'esm' });
}

interface TestBundle {
  readonly format: ModuleFormat;
  /** Code before everything else. */
  readonly before: string;
  /** Which scenes are played: a regular expression. */
  readonly scenes: string;
  /** Parts of the names of those that are not, all the same. */
  readonly leftOut: readonly string[];
  readonly plugins: readonly Plugin[];
}

async function bundleTests(framework: MatrixFramework, options: TestBundle): Promise<string> {
  const { adapter, programs, workspaceNames } = framework;
  const contents = `${options.before}
${programs.map((file) => `import './${file}';`).join('\n')}
import { writeFileSync } from 'node:fs';
import { runCollectedTests } from 'vitest';
const scenes = new RegExp(${JSON.stringify(options.scenes)});
const leftOut = ${JSON.stringify(options.leftOut)};
runCollectedTests((name) => scenes.test(name) && !leftOut.some((part) => name.includes(part))).then((report) => {
  writeFileSync(process.argv[2], JSON.stringify(report));
  process.exit(0);
});`;
  return await bundle({
    stdin: { contents, resolveDir: join(repositoryRoot, 'packages', adapter, 'test') },
    format: options.format,
    packages: 'external',
    alias: { ...workspaceNames },
    plugins: [ownPackageByName(adapter), ...options.plugins],
  });
}

/** A test of a package is inside of it; a user's code has it by its name. */
function ownPackageByName(adapter: string): Plugin {
  return {
    name: 'own-package-by-name',
    setup: ({ onResolve }) => {
      onResolve({ filter: /^\.\.\/src\/index\.ts$/ }, () => ({ path: `@agentlightning/${adapter}`, external: true }));
    },
  };
}

/** The contract without the adapter's one line: something else must have put it in place. */
const withoutTheLine: Plugin = {
  name: 'without-the-line',
  setup: ({ onResolve, onLoad }) => {
    const contracts = '@agentlightning/core/contracts';
    onResolve({ filter: /^@agentlightning\/core\/contracts$/ }, ({ path, namespace }) =>
      namespace === 'without-the-line' ? { path, external: true } : { path, namespace: 'without-the-line' },
    );
    onLoad({ filter: /.*/, namespace: 'without-the-line' }, () => ({
      contents: `import { describeAdapterContract as describe } from '${contracts}';
export { jsonSchemaOf } from '${contracts}';
export const describeAdapterContract = (adapter) => describe({ ...adapter, instrument: () => () => {} });`,
      resolveDir: repositoryRoot,
    }));
  },
};

async function bundle(options: BuildOptions): Promise<string> {
  const { outputFiles } = await build({
    bundle: true,
    platform: 'node',
    // The packages say that their files have no side effects; collecting tests is one.
    ignoreAnnotations: true,
    target: 'node22',
    write: false,
    logLevel: 'silent',
    ...options,
  });
  return outputFiles?.[0]?.text ?? '';
}
