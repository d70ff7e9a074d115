/**
 * `pnpm test:matrix`: runs the adapter contract on every framework version, on every runtime, in ES modules and in CommonJS,
 * from packed archives, in projects like those of users. The packages must have been built.
 *
 * `pnpm test:matrix --only langchain --on bun` selects a part, and `--on bundled` the bundlers; `--json` prints the results as
 * JSON; `--fresh` ignores cached results. The exit code is 1 if a test failed.
 *
 * There is no second set of tests: the contract test files of the adapters are bundled, with all packages external, into one
 * program per module format. A substitute for `vitest` has `describe`, `test` and Vitest's `expect`, because Vitest would load
 * modules in another way than users' code. npm installs the projects without a workspace, and without install scripts, which
 * download. Unsupported combinations are excluded by name with a reason; there are no retries. A passed result is cached as
 * long as every input file is the same.
 *
 * @module
 */
import { parseArgs } from 'node:util';
import { type CellFilter, cellsOf, columns, unknownNames } from './matrix/cell.ts';
import { failuresOf, jsonOf, nameOf, skipsOf, tableOf } from './matrix/matrix-report.ts';
import type { CellResult } from './matrix/run-cell.ts';
import { runMatrix } from './matrix/run-matrix.ts';

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
    console.error(
      `Unknown name: ${unknown.join(', ')}. For --only, pass a prefix of an adapter's or a framework's name.`,
    );
    console.error(`For --on, pass a column (${columns.join(', ')}), one half of a column name, or bundled.`);
    return 2;
  }
  const cells = cellsOf(filter);
  if (cells.length === 0) {
    console.error('No tests for this combination of --only and --on. See docs/platforms.md for the combinations.');
    return 2;
  }
  const startedAt = performance.now();
  const results = await runMatrix(cells, {
    useCache: !values.fresh,
    // Standard output is reserved for the results.
    onProgress: (line) => console.error(`  … ${line}`),
    onResult: (result) => console.error(`  ${lineOf(result)}`),
  });
  const failed = results.filter((result) => result.failed.length > 0);
  if (values.json) console.log(jsonOf(results));
  else {
    const parts = [failuresOf(results), tableOf(results), `Skipped scenes:\n${skipsOf(results)}`];
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
  const { cell, passed, failed, seconds, isCached } = result;
  const mark = failed.length === 0 ? '✔' : '✘';
  const time = isCached ? 'cached' : `${seconds.toFixed(1)} s`;
  return `${mark} ${nameOf(cell)}: ${passed.length} passed, ${failed.length} failed (${time})`;
}

process.exitCode = await main(process.argv.slice(2).filter((arg) => arg !== '--'));
