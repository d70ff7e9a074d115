import { bundlers, type LeftOutScene, type MatrixBundler } from './bundlers.ts';
import { frameworks, type MatrixFramework } from './frameworks.ts';
import { type MatrixRuntime, type ModuleFormat, mainRuntime, moduleFormats, runtimes } from './runtimes.ts';

/** One field of the matrix: a framework in one version, on one runtime, in one module format. */
export interface Cell {
  readonly framework: MatrixFramework;
  readonly runtime: MatrixRuntime;
  readonly format: ModuleFormat;
  /** What bundles the program with the adapter and the framework; null where they are installed packages. */
  readonly bundler: MatrixBundler | null;
}

/** What a run is confined to; empty lists mean everything. */
export interface CellFilter {
  /** Adapters or frameworks: the start of their name, whatever the case: `langchain`, `ai sdk 6`, `openai 7`. */
  readonly only: readonly string[];
  /** Columns: runtimes (`bun`), module formats (`cjs`), both (`bun-cjs`), bundlers (`next`), or all of them: `bundled`. */
  readonly on: readonly string[];
}

/** The column that `verify` plays, with the current version of each framework. */
export const mainColumn = 'node24-esm';

/** The name of a column. */
export function columnOf({ runtime, format, bundler }: Pick<Cell, 'runtime' | 'format' | 'bundler'>): string {
  return `${bundler?.name ?? runtime.name}-${format}`;
}

/** All columns, in the order of the table. */
const places: readonly Omit<Cell, 'framework'>[] = [
  ...runtimes.flatMap((runtime) => moduleFormats.map((format) => ({ runtime, format, bundler: null }))),
  ...bundlers.flatMap((bundler) => bundler.formats.map((format) => ({ runtime: mainRuntime, format, bundler }))),
];

/** The names of all columns, in the order of the table. */
export const columns: readonly string[] = places.map(columnOf);

/** The fields of the matrix that a filter lets through. */
export function cellsOf(filter: CellFilter): readonly Cell[] {
  return frameworks
    .filter(({ adapter, name }) => isWanted(filter.only, (only) => adapter === only || startsWith(name, only)))
    .flatMap((framework) => places.map((place): Cell => ({ framework, ...place })))
    .filter((cell) => isPlayed(cell))
    .filter((cell) => isWanted(filter.on, (on) => namesOf(cell).includes(on)));
}

/** The names by which a filter finds a column. */
function namesOf(cell: Cell): readonly string[] {
  const { bundler, runtime, format } = cell;
  return [columnOf(cell), format, ...(bundler === null ? [runtime.name] : [bundler.name, 'bundled'])];
}

/** The scenes that are not run in a cell. */
export function leftOutOf({ framework, runtime, bundler }: Cell): readonly LeftOutScene[] {
  const place = bundler === null ? runtime.name : 'bundled';
  return [...(framework.leftOut ?? []).filter(({ on }) => on === place), ...(bundler?.leftOut ?? [])];
}

/** Lowest versions are played where everything else is current. */
function isPlayed(cell: Cell): boolean {
  if (cell.bundler !== null) return cell.framework.age === 'current';
  if (cell.framework.age === 'lowest') return columnOf(cell) === mainColumn;
  return cell.framework.age === 'current' || cell.runtime.isLowest !== true;
}

/** The fields that `verify` plays. */
export function mainCells(): readonly Cell[] {
  return cellsOf({ only: [], on: [mainColumn] }).filter(({ framework }) => framework.age === 'current');
}

/** What of a filter names nothing at all. */
export function unknownNames({ only, on }: CellFilter): readonly string[] {
  return [
    ...only.filter((name) => cellsOf({ only: [name], on: [] }).length === 0),
    ...on.filter((name) => cellsOf({ only: [], on: [name] }).length === 0),
  ];
}

function isWanted(names: readonly string[], matches: (name: string) => boolean): boolean {
  return names.length === 0 || names.some(matches);
}

function startsWith(name: string, start: string): boolean {
  return name.toLowerCase().startsWith(start.toLowerCase());
}
