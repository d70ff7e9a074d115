import { type RolloutFilters, rolloutFilters } from './rollout-filters.ts';
import { definedValues, type SearchValues, textValue } from './search-values.ts';

/** The columns of a list of rollouts after the id, in order. */
export const rolloutColumns = [
  'status',
  'run',
  'mode',
  'step',
  'task',
  'group',
  'reward',
  'label',
  'started',
  'duration',
  'attempts',
  'worker',
  'input',
] as const;

/** One of {@link rolloutColumns}. */
export type RolloutColumn = (typeof rolloutColumns)[number];

/** The columns that are shown unless others are chosen. */
export const defaultColumns: readonly RolloutColumn[] = [
  'status',
  'mode',
  'step',
  'task',
  'reward',
  'label',
  'duration',
  'attempts',
  'input',
];

/** The state of the page of rollouts, as in the URL. */
export interface RolloutsSearch extends RolloutFilters {
  /** The chosen columns, separated by dots; the default ones without it. */
  readonly columns?: string | undefined;
}

/** Reads the state from the URL; invalid values are ignored. */
export function rolloutsSearch(values: SearchValues): RolloutsSearch {
  return definedValues({ ...rolloutFilters(values), columns: textValue(values['columns']) });
}

/** The chosen columns, in their order. */
export function chosenColumns({ columns }: RolloutsSearch): readonly RolloutColumn[] {
  if (columns === undefined) return defaultColumns;
  const names: readonly string[] = columns.split('.');
  return rolloutColumns.filter((column) => names.includes(column));
}

/** The text of chosen columns in the URL; undefined for the default ones. */
export function columnsText(chosen: readonly RolloutColumn[]): string | undefined {
  const text = rolloutColumns.filter((column) => chosen.includes(column)).join('.');
  if (text === defaultColumns.join('.')) return undefined;
  return text === '' ? 'none' : text;
}
