import { bundlers, type MatrixBundler, type SkippedScene } from './bundlers.ts';
import { frameworks, type MatrixFramework } from './frameworks.ts';
import { type MatrixRuntime, type ModuleFormat, mainRuntime, moduleFormats, runtimes } from './runtimes.ts';

/** A cell of the matrix: one framework version on one runtime in one module format. */
export interface Cell {
  readonly framework: MatrixFramework;
  readonly runtime: MatrixRuntime;
  readonly format: ModuleFormat;
  /** The bundler of the program, its adapter and its framework; null if they are installed packages. */
  readonly bundler: MatrixBundler | null;
}

/** Selects cells; an empty list selects all. */
export interface CellFilter {
  /** Adapters, or case-insensitive prefixes of framework names: `langchain`, `ai sdk 6`, `openai 7`. */
  readonly only: readonly string[];
  /** Columns: runtimes (`bun`), module formats (`cjs`), both (`bun-cjs`), bundlers (`next`), or all of them: `bundled`. */
  readonly on: readonly string[];
}

/** The column that `verify` runs, with the current version of each framework. */
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

/** The cells that match a filter. */
export function cellsOf(filter: CellFilter): readonly Cell[] {
  return frameworks
    .filter(({ adapter, name }) => isWanted(filter.only, (only) => adapter === only || startsWith(name, only)))
    .flatMap((framework) => places.map((place): Cell => ({ framework, ...place })))
    .filter((cell) => isIncluded(cell))
    .filter((cell) => isWanted(filter.on, (on) => namesOf(cell).includes(on)));
}

/** The names by which a filter selects a column. */
function namesOf(cell: Cell): readonly string[] {
  const { bundler, runtime, format } = cell;
  return [columnOf(cell), format, ...(bundler === null ? [runtime.name] : [bundler.name, 'bundled'])];
}

/** The scenes that are skipped in a cell. */
export function skippedScenesOf({ framework, runtime, bundler }: Cell): readonly SkippedScene[] {
  const place = bundler === null ? runtime.name : 'bundled';
  return [...(framework.skippedScenes ?? []).filter(({ on }) => on === place), ...(bundler?.skippedScenes ?? [])];
}

/** Lowest versions run in the main column only. */
function isIncluded(cell: Cell): boolean {
  if (cell.framework.columns?.includes(columnOf(cell)) === false) return false;
  if (cell.bundler !== null) return cell.framework.age === 'current';
  if (cell.framework.age === 'lowest') return columnOf(cell) === mainColumn;
  return cell.framework.age === 'current' || cell.runtime.isLowest !== true;
}

/** The cells that `verify` runs. */
export function mainCells(): readonly Cell[] {
  return cellsOf({ only: [], on: [mainColumn] }).filter(
    ({ framework }) => framework.age === 'current' && framework.isLong !== true,
  );
}

/** The names of a filter that match nothing. */
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
