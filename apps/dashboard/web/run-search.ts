import { type ChartSearch, chartSearch } from './chart-search.ts';
import { type RolloutFilters, rolloutFilters } from './rollout-filters.ts';
import { definedValues, numberValue, type SearchValues, textValue } from './search-values.ts';

/** The state of a run's page, as in the URL, with the filters of its rollouts. */
export interface RunSearch extends RolloutFilters, ChartSearch {
  /** A part of the names of the shown metrics. */
  readonly metric?: string | undefined;
  /** The step that all panels show; the latest by default. */
  readonly step?: number | undefined;
  /** The run whose configuration is compared. */
  readonly against?: string | undefined;
}

/** Reads the state from the URL; invalid values are ignored. */
export function runSearch(values: SearchValues): RunSearch {
  return definedValues({
    ...rolloutFilters(values),
    ...chartSearch(values),
    metric: textValue(values['metric']),
    step: numberValue(values['step']),
    against: textValue(values['against']),
  });
}
