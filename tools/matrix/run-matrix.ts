import { mkdir, writeFile } from 'node:fs/promises';
import { availableParallelism } from 'node:os';
import { join } from 'node:path';
import type { Cell } from './cell.ts';
import { bundleVitestShim } from './contract-program.ts';
import type { MatrixFramework } from './frameworks.ts';
import { installRuntime } from './installed-runtime.ts';
import { withMatrixFolder } from './matrix-folder.ts';
import { packPackages } from './package-archives.ts';
import { type CellResult, runCell } from './run-cell.ts';
import { installUserProject } from './user-project.ts';

/** Options of a matrix run. */
export interface MatrixOptions {
  /** Whether cached results of earlier runs with identical files are accepted. */
  readonly useCache: boolean;
  /** Called with the current operation. */
  readonly onProgress: (line: string) => void;
  /** Called with each result, in order of completion. */
  readonly onResult: (result: CellResult) => void;
}

type CellRunner = (cell: Cell) => Promise<CellResult>;

/** Runs cells of the matrix: packs, installs, and runs every program. Returns the results in the order of the cells. */
export async function runMatrix(cells: readonly Cell[], options: MatrixOptions): Promise<readonly CellResult[]> {
  return await withMatrixFolder(options.onProgress, async (home) => {
    const prepare = await preparation(home, cells, options);
    const frameworks = [...new Set(cells.map(({ framework }) => framework))];
    const results = new Map<Cell, CellResult>();
    let next = prepareNext(frameworks, prepare);
    while (next !== null) {
      const { framework, run } = next;
      const runFrameworkCell = await run;
      // Installs the next framework (network-bound) while the programs of this one run (CPU-bound).
      next = prepareNext(frameworks, prepare);
      const own = cells.filter((cell) => cell.framework === framework);
      await inParallel(own, async (cell) => {
        const result = await runFrameworkCell(cell);
        results.set(cell, result);
        options.onResult(result);
      });
    }
    return cells.flatMap((cell) => results.get(cell) ?? []);
  });
}

function prepareNext(
  frameworks: MatrixFramework[],
  prepare: (framework: MatrixFramework) => Promise<CellRunner>,
): { readonly framework: MatrixFramework; readonly run: Promise<CellRunner> } | null {
  const framework = frameworks.shift();
  if (framework === undefined) return null;
  // A failed installation is reported as a result, so that the other frameworks still run.
  const run = prepare(framework).catch(
    (error: unknown): CellRunner =>
      (cell) =>
        Promise.resolve(installationFailure(cell, error)),
  );
  return { framework, run };
}

/** Prepares the parts common to all cells, and returns a function that prepares one framework. */
async function preparation(
  home: string,
  cells: readonly Cell[],
  { useCache, onProgress }: MatrixOptions,
): Promise<(framework: MatrixFramework) => Promise<CellRunner>> {
  onProgress('packing');
  const names = ['core', ...cells.map(({ framework }) => framework.adapter)];
  const archives = await packPackages(names, join(home, 'archives'));
  const vitestShim = await bundleVitestShim();
  const commands = new Map<string, Promise<readonly string[]>>();
  return async (framework) => {
    onProgress(`installing ${framework.name}`);
    const folder = join(home, 'projects', framework.name.toLowerCase().replaceAll(' ', '-'));
    const project = await installUserProject(framework, { folder, archives });
    await installVitestShim(folder, vitestShim);
    return async (cell) => {
      const { name } = cell.runtime;
      const installing = commands.get(name) ?? installRuntime(cell.runtime, join(home, 'runtimes'));
      commands.set(name, installing);
      return await runCell(cell, { project, home, vitestShim, useCache, command: await installing });
    };
  };
}

function installationFailure(cell: Cell, error: unknown): CellResult {
  const failed = [{ name: 'installation', reason: String(error) }];
  return { cell, passed: [], failed, skipped: [], seconds: 0, isCached: false };
}

/** Installs the matrix's `vitest` as a user's test runner would be, after npm has finished. */
async function installVitestShim(folder: string, vitestShim: string): Promise<void> {
  const home = join(folder, 'node_modules/vitest');
  await mkdir(home, { recursive: true });
  const manifest = { name: 'vitest', version: '5.0.0', type: 'module', exports: './index.js' };
  await writeFile(join(home, 'package.json'), JSON.stringify(manifest));
  await writeFile(join(home, 'index.js'), vitestShim);
}

async function inParallel<TItem>(items: readonly TItem[], work: (item: TItem) => Promise<void>): Promise<void> {
  const waiting = [...items];
  const worker = async (): Promise<void> => {
    for (let item = waiting.shift(); item !== undefined; item = waiting.shift()) await work(item);
  };
  await Promise.all(Array.from({ length: Math.min(4, availableParallelism()) }, worker));
}
