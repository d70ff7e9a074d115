/**
 * `pnpm test:matrix`: plays the adapter contract on every version of the frameworks, on every runtime, in ES modules
 * and in CommonJS, from the packed archives, in projects as users have them. The packages must have been built.
 *
 * `pnpm test:matrix --only langchain --on bun` plays a part, and `--on bundled` the bundlers; `--json` prints the results for programs; `--fresh` plays
 * again what passed before with the very same files. The exit code is 1 when anything failed.
 *
 * @module
 */
import { parseArgs } from 'node:util';
import { type CellFilter, cellsOf, columns, unknownNames } from './matrix/cell.ts';
import { failuresOf, jsonOf, nameOf, skipsOf, tableOf } from './matrix/matrix-report.ts';
import type { CellResult } from './matrix/play-cell.ts';
import { playMatrix } from './matrix/play-matrix.ts';

const options = {
  only: { type: 'string', multiple: true, default: [] as string[] },
  on: { type: 'string', multiple: true, default: [] as string[] },
  json: { type: 'boolean', default: false },
  fresh: { type: 'boolean', default: false },
} as const;

async function main(args: readonly string[]): Promise<number> {
  const values = valuesOf(args);
  if (values === null) return 2;
  const filter: CellFilter = { only: values.only, on: values.on };
  const unknown = unknownNames(filter);
  if (unknown.length > 0) {
    console.error(`There is no ${unknown.join(', ')}. Rows: the start of an adapter's or a framework's name.`);
    console.error(`Columns: ${columns.join(', ')}, one half of such a name, or bundled.`);
    return 2;
  }
  const cells = cellsOf(filter);
  if (cells.length === 0) {
    console.error('Nothing of that is played together: docs/platforms.md lists what is.');
    return 2;
  }
  const startedAt = performance.now();
  const results = await playMatrix(cells, {
    mayRemember: !values.fresh,
    // Standard output is for the result.
    onProgress: (line) => console.error(`  … ${line}`),
    onResult: (result) => console.error(`  ${lineOf(result)}`),
  });
  const failed = results.filter((result) => result.failed.length > 0);
  if (values.json) console.log(jsonOf(results));
  else {
    const parts = [failuresOf(results), tableOf(results), `Scenes left out:\n${skipsOf(results)}`];
    console.log(`\n${parts.filter((part) => part !== '').join('\n\n')}`);
    console.log(`\nTook ${((performance.now() - startedAt) / 1000).toFixed(0)} s.`);
    console.log(`${results.length - failed.length} passed, ${failed.length} failed`);
  }
  return failed.length === 0 ? 0 : 1;
}

function valuesOf(args: readonly string[]) {
  try {
    return parseArgs({ args: [...args], options }).values;
  } catch (error) {
    console.error(`${error instanceof Error ? error.message : error}`);
    console.error(
      `Flags: ${Object.keys(options)
        .map((name) => `--${name}`)
        .join(', ')}.`,
    );
    return null;
  }
}

function lineOf(result: CellResult): string {
  const { cell, passed, failed, seconds, isRemembered } = result;
  const mark = failed.length === 0 ? '✔' : '✘';
  const time = isRemembered ? 'as before' : `${seconds.toFixed(1)} s`;
  return `${mark} ${nameOf(cell)}: ${passed.length} passed, ${failed.length} failed (${time})`;
}

process.exitCode = await main(process.argv.slice(2).filter((arg) => arg !== '--'));
