import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { type BuildOptions, build, type Plugin } from 'esbuild';
import { repositoryRoot } from '../repository-files.ts';
import { type Cell, skippedScenesOf } from './cell.ts';
import type { MatrixFramework } from './frameworks.ts';
import type { ModuleFormat } from './runtimes.ts';

/** A single-file program for a user's project. */
export interface ContractProgram {
  /** The prefix of its tests in the report; may be empty. */
  readonly name: string;
  readonly source: string;
}

/**
 * The scenes for an adapter that is instrumented permanently, by an import before the first scene: substrings of their names,
 * separated by `|`.
 */
export const registeredScenes =
  'a plain call|parallel tool calls|is a child of the tool call|recorded like a non-streamed|concurrent rollouts with one model object|created before instrumentation|NODE_ENV';

/**
 * Bundles the contract tests of an adapter into programs that resemble user code: packages stay an `import`, or a `require`
 * in CommonJS. The first program calls the `instrument…` function; the second, for adapters with a `register` module, only
 * imports `@agentlightning/<adapter>/register`.
 */
export async function contractPrograms(cell: Cell): Promise<readonly ContractProgram[]> {
  const { framework, bundler } = cell;
  // The input of a bundler is always an ES module.
  const format = bundler === null ? cell.format : 'esm';
  const skippedScenes = skippedScenesOf(cell).map(({ scene }) => scene);
  const name = `@agentlightning/${framework.adapter}`;
  const instrumented = await bundleTests(framework, { format, skippedScenes, before: '', scenes: '', plugins: [] });
  const programs: ContractProgram[] = [{ name: '', source: instrumented }];
  if (existsSync(join(repositoryRoot, 'packages', framework.adapter, 'src/register.ts'))) {
    const before = `import '${name}/register';`;
    const plugins = [withoutInstrumentation];
    const source = await bundleTests(framework, { format, skippedScenes, before, scenes: registeredScenes, plugins });
    programs.push({ name: `${name}/register: `, source });
  }
  return programs;
}

/** The package `vitest` of the matrix: one file without dependencies. */
export async function bundleVitestShim(): Promise<string> {
  return await bundle({ entryPoints: [join(import.meta.dirname, 'vitest-shim/vitest.ts')], format: 'esm' });
}

interface TestBundle {
  readonly format: ModuleFormat;
  /** Code at the start of the program. */
  readonly before: string;
  /** The scenes to run: a regular expression. */
  readonly scenes: string;
  /** Substrings of the names of skipped scenes. */
  readonly skippedScenes: readonly string[];
  readonly plugins: readonly Plugin[];
}

async function bundleTests(framework: MatrixFramework, options: TestBundle): Promise<string> {
  const { adapter, programs, workspaceNames } = framework;
  const contents = `${options.before}
${programs.map((file) => `import './${file}';`).join('\n')}
import { writeFileSync } from 'node:fs';
import { runCollectedTests } from 'vitest';
const scenes = new RegExp(${JSON.stringify(options.scenes)});
const skippedScenes = ${JSON.stringify(options.skippedScenes)};
runCollectedTests((name) => scenes.test(name) && !skippedScenes.some((part) => name.includes(part))).then((report) => {
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

/** Resolves the package under test, which tests import by path, by its name. */
function ownPackageByName(adapter: string): Plugin {
  return {
    name: 'own-package-by-name',
    setup: ({ onResolve }) => {
      onResolve({ filter: /^\.\.\/src\/index\.ts$/ }, () => ({ path: `@agentlightning/${adapter}`, external: true }));
    },
  };
}

/** Replaces the contract's `instrument` function: another module has instrumented already. */
const withoutInstrumentation: Plugin = {
  name: 'without-instrumentation',
  setup: ({ onResolve, onLoad }) => {
    const contracts = '@agentlightning/core/contracts';
    onResolve({ filter: /^@agentlightning\/core\/contracts$/ }, ({ path, namespace }) =>
      namespace === 'without-instrumentation'
        ? { path, external: true }
        : { path, namespace: 'without-instrumentation' },
    );
    onLoad({ filter: /.*/, namespace: 'without-instrumentation' }, () => ({
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
    // The packages declare no side effects, but collecting tests is one.
    ignoreAnnotations: true,
    target: 'node22',
    write: false,
    logLevel: 'silent',
    ...options,
  });
  return outputFiles?.[0]?.text ?? '';
}
