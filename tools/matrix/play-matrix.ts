import { createHash } from 'node:crypto';
import { mkdir, writeFile } from 'node:fs/promises';
import { availableParallelism, tmpdir } from 'node:os';
import { join } from 'node:path';
import { repositoryRoot } from '../repository-files.ts';
import type { Cell } from './cell.ts';
import { vitestStandIn } from './contract-program.ts';
import { installRuntime } from './installed-runtime.ts';
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

/**
 * Plays fields of the matrix: packs, installs, and runs every program. Results come in the order of the fields.
 *
 * Everything happens in a folder of its own among the temporary files, since a folder within the workspace would find
 * the workspace's packages. It stays there, so that the next run is quick.
 */
export async function playMatrix(cells: readonly Cell[], options: PlayOptions): Promise<readonly CellResult[]> {
  const home = join(tmpdir(), `agentlightning-matrix-${digestOf(repositoryRoot).slice(0, 8)}`);
  const { onProgress } = options;
  onProgress('packing');
  const names = ['core', ...cells.map(({ framework }) => framework.adapter)];
  const archives = await packPackages(names, join(home, 'archives'));
  const standIn = await vitestStandIn();

  const results = new Map<Cell, CellResult>();
  for (const framework of new Set(cells.map((cell) => cell.framework))) {
    onProgress(`installing ${framework.name}`);
    const own = cells.filter((cell) => cell.framework === framework);
    const folder = join(home, 'projects', framework.name.toLowerCase().replaceAll(' ', '-'));
    const play = async (): Promise<Play> => {
      const project = await installUserProject(framework, { folder, archives });
      await putStandIn(folder, standIn);
      const commands = new Map<Cell, readonly string[]>();
      for (const cell of own) commands.set(cell, await installRuntime(cell.runtime, join(home, 'runtimes')));
      const stage = { project, standIn, mayRemember: options.mayRemember };
      return (cell) => playCell(cell, { ...stage, command: commands.get(cell) ?? [] });
    };
    // What cannot be installed is a result as well, and no reason to leave out the rest.
    const playOne = await play().catch(
      (error: unknown): Play =>
        (cell) =>
          Promise.resolve(uninstalled(cell, error)),
    );
    await inParallel(own, async (cell) => {
      const result = await playOne(cell);
      results.set(cell, result);
      options.onResult(result);
    });
  }
  return cells.flatMap((cell) => results.get(cell) ?? []);
}

type Play = (cell: Cell) => Promise<CellResult>;

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

function digestOf(text: string): string {
  return createHash('sha256').update(text).digest('hex');
}
