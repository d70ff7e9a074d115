import { type Cell, columnOf, columns } from './cell.ts';
import type { CellResult } from './run-cell.ts';

/** The results as a text table: a row for each framework version, a column for each runtime. */
export function tableOf(results: readonly CellResult[]): string {
  const used = columns.filter((column) => results.some(({ cell }) => columnOf(cell) === column));
  const names = [...new Set(results.map(({ cell }) => cell.framework.name))];
  const width = Math.max(...names.map((name) => name.length));
  const lines = names.map((name) => {
    const fields = used.map((column) => {
      const result = results.find(({ cell }) => cell.framework.name === name && columnOf(cell) === column);
      return fieldOf(result).padEnd(column.length);
    });
    return [name.padEnd(width), ...fields].join('  ').trimEnd();
  });
  return [[''.padEnd(width), ...used].join('  '), ...lines].join('\n');
}

/** The reasons for skipped scenes, deduplicated, with their frameworks. */
export function skipsOf(results: readonly CellResult[]): string {
  const places = new Map<string, { readonly frameworks: Set<string>; count: number }>();
  for (const { cell, skipped } of results) {
    for (const { reason } of skipped) {
      const place = places.get(reason) ?? { frameworks: new Set(), count: 0 };
      place.frameworks.add(cell.framework.name);
      place.count += 1;
      places.set(reason, place);
    }
  }
  return [...places].map(([reason, { frameworks }]) => `  ${[...frameworks].join(', ')}: ${reason}`).join('\n');
}

/** The failures with their full reasons. */
export function failuresOf(results: readonly CellResult[]): string {
  return results
    .flatMap(({ cell, failed }) =>
      failed.map(({ name, reason }) => `✘ ${nameOf(cell)}: ${name}\n${reason.replaceAll(/^/gm, '    ')}`),
    )
    .join('\n\n');
}

/** The results as JSON. */
export function jsonOf(results: readonly CellResult[]): string {
  return JSON.stringify(
    results.map(({ cell, passed, failed, skipped, seconds, isCached }) => ({
      adapter: cell.framework.adapter,
      framework: cell.framework.name,
      packages: cell.framework.packages,
      runtime: cell.runtime.name,
      runtimeVersion: cell.runtime.package.version,
      format: cell.format,
      passed: passed.length,
      failed,
      skipped,
      seconds: Math.round(seconds * 10) / 10,
      isCached,
    })),
    null,
    2,
  );
}

/** `LangChain 1 on bun-cjs`. */
export function nameOf(cell: Cell): string {
  return `${cell.framework.name} on ${columnOf(cell)}`;
}

function fieldOf(result: CellResult | undefined): string {
  if (result === undefined) return '·';
  const { passed, failed } = result;
  return failed.length === 0 ? `✔ ${passed.length}` : `✘ ${failed.length}/${passed.length + failed.length}`;
}
