import { cellsOf } from './cell.ts';
import { frameworks, type MatrixFramework } from './frameworks.ts';
import { type MatrixRuntime, runtimes } from './runtimes.ts';

const allCells = cellsOf({ only: [], on: [] });

/** The tested framework versions of an adapter, as a table for its README. */
export function versionTable(adapter: string): string {
  const own = frameworks.filter((framework) => framework.adapter === adapter);
  const rows = own.map((framework) => {
    const [first = '', ...others] = Object.entries(framework.packages).map(
      ([name, version]) => `\`${name}\` ${version}`,
    );
    return `| ${first} | ${others.join(', ')} | ${platformsOf(framework)} |`;
  });
  return ['| version | with | tested on |', '|---|---|---|', ...rows].join('\n');
}

/** The tested runtimes of every framework, as a table. */
export function platformTable(): string {
  const names = [...runtimes.map((runtime) => nameOf(runtime)), 'bundled by'];
  const rows = frameworks.map((framework) => {
    const fields = [...runtimes.map((runtime) => formatsOf(framework, runtime)), bundlersOf(framework)];
    const adapter = `[\`${framework.adapter}\`](../packages/${framework.adapter}/README.md#versions)`;
    return `| ${framework.name} | ${adapter} | ${fields.join(' | ')} |`;
  });
  const head = `| | adapter | ${names.join(' | ')} |`;
  return [head, `|---|---|${names.map(() => '---|').join('')}`, ...rows].join('\n');
}

/** `Node 22, 24, Bun 1.4; ES modules and CommonJS`. */
function platformsOf(framework: MatrixFramework): string {
  const used = runtimes.filter((runtime) => formatsOf(framework, runtime) !== '');
  const names = used.map((runtime) => nameOf(runtime)).join(', ');
  const formats = used.some((runtime) => formatsOf(framework, runtime).includes('CJS'))
    ? 'ES modules and CommonJS'
    : 'ES modules';
  const remark = framework.age === 'lowest' ? ' (lowest supported version)' : '';
  return `${names.replaceAll(', Node ', ', ')}; ${formats}${remark}`;
}

function formatsOf(framework: MatrixFramework, runtime: MatrixRuntime): string {
  const words = { esm: 'ESM', cjs: 'CJS' };
  return allCells
    .filter((cell) => cell.framework === framework && cell.runtime === runtime && cell.bundler === null)
    .map(({ format }) => words[format])
    .join(', ');
}

/** `esbuild, webpack`. */
function bundlersOf(framework: MatrixFramework): string {
  const cells = allCells.filter((cell) => cell.framework === framework);
  return [...new Set(cells.map(({ bundler }) => bundler?.title).filter((title) => title !== undefined))].join(', ');
}

/** `Node 24`, `Node 22.12`, `Bun 1.4`: Node versions are named by their major, except for the lowest. */
function nameOf({ name, package: { version }, isLowest = false }: MatrixRuntime): string {
  const [major, minor] = version.split('.');
  if (name.startsWith('node')) return isLowest ? `Node ${major}.${minor}` : `Node ${major}`;
  return `${name[0]?.toUpperCase()}${name.slice(1)} ${major}.${minor}`;
}
