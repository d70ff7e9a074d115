import { mkdir, writeFile } from 'node:fs/promises';
import { availableParallelism } from 'node:os';
import { join } from 'node:path';
import type { Cell } from './cell.ts';
import { vitestStandIn } from './contract-program.ts';
import type { MatrixFramework } from './frameworks.ts';
import { installRuntime } from './installed-runtime.ts';
import { inMatrixHome } from './matrix-home.ts';
import { packPackages } from './package-archives.ts';
import { type CellResult, playCell } from './play-cell.ts';
import { installUserProject } from './user-project.ts';

/** How a matrix is played. */
export interface PlayOptions {
  /** Whether results of earlier runs with the very same files stand. */
  readonly mayRemember: boolean;
  /** Called with what is being done. */
  readonly onProgress: (line: string) => void;
  /** Called with each result as it comes. */
  readonly onResult: (result: CellResult) => void;
}

type Play = (cell: Cell) => Promise<CellResult>;

/** Plays fields of the matrix: packs, installs, and runs every program. Results come in the order of the fields. */
export async function playMatrix(cells: readonly Cell[], options: PlayOptions): Promise<readonly CellResult[]> {
  return await inMatrixHome(options.onProgress, async (home) => {
    const prepare = await preparation(home, cells, options);
    const frameworks = [...new Set(cells.map(({ framework }) => framework))];
    const results = new Map<Cell, CellResult>();
    let next = prepareNext(frameworks, prepare);
    while (next !== null) {
      const { framework, play } = next;
      const isReady = await play;
      // npm waits for the network while the programs of the framework before need the processor.
      next = prepareNext(frameworks, prepare);
      const own = cells.filter((cell) => cell.framework === framework);
      await inParallel(own, async (cell) => {
        const result = await isReady(cell);
        results.set(cell, result);
        options.onResult(result);
      });
    }
    return cells.flatMap((cell) => results.get(cell) ?? []);
  });
}

function prepareNext(
  frameworks: MatrixFramework[],
  prepare: (framework: MatrixFramework) => Promise<Play>,
): { readonly framework: MatrixFramework; readonly play: Promise<Play> } | null {
  const framework = frameworks.shift();
  if (framework === undefined) return null;
  // What cannot be installed is a result as well, and no reason to leave out the rest.
  const play = prepare(framework).catch(
    (error: unknown): Play =>
      (cell) =>
        Promise.resolve(uninstalled(cell, error)),
  );
  return { framework, play };
}

/** Does what all fields need, and gives what prepares those of one framework. */
async function preparation(
  home: string,
  cells: readonly Cell[],
  { mayRemember, onProgress }: PlayOptions,
): Promise<(framework: MatrixFramework) => Promise<Play>> {
  onProgress('packing');
  const names = ['core', ...cells.map(({ framework }) => framework.adapter)];
  const archives = await packPackages(names, join(home, 'archives'));
  const standIn = await vitestStandIn();
  const commands = new Map<string, Promise<readonly string[]>>();
  return async (framework) => {
    onProgress(`installing ${framework.name}`);
    const folder = join(home, 'projects', framework.name.toLowerCase().replaceAll(' ', '-'));
    const project = await installUserProject(framework, { folder, archives });
    await putStandIn(folder, standIn);
    return async (cell) => {
      const { name } = cell.runtime;
      const installing = commands.get(name) ?? installRuntime(cell.runtime, join(home, 'runtimes'));
      commands.set(name, installing);
      return await playCell(cell, { project, home, standIn, mayRemember, command: await installing });
    };
  };
}

function uninstalled(cell: Cell, error: unknown): CellResult {
  const failed = [{ name: 'the installation', reason: String(error) }];
  return { cell, passed: [], failed, skipped: [], seconds: 0, isRemembered: false };
}

/** The suite's `vitest`, put where a test runner of the user's would be, after everything that npm looks at. */
async function putStandIn(folder: string, standIn: string): Promise<void> {
  const home = join(folder, 'node_modules/vitest');
  await mkdir(home, { recursive: true });
  const manifest = { name: 'vitest', version: '5.0.0', type: 'module', exports: './index.js' };
  await writeFile(join(home, 'package.json'), JSON.stringify(manifest));
  await writeFile(join(home, 'index.js'), standIn);
}

async function inParallel<TItem>(items: readonly TItem[], work: (item: TItem) => Promise<void>): Promise<void> {
  const waiting = [...items];
  const worker = async (): Promise<void> => {
    for (let item = waiting.shift(); item !== undefined; item = waiting.shift()) await work(item);
  };
  await Promise.all(Array.from({ length: Math.min(4, availableParallelism()) }, worker));
}
