import { type RolloutFilters, rolloutFilters, rolloutModes } from './rollout-filters.ts';
import { choiceValue, definedValues, type SearchValues } from './search-values.ts';

/** What decides which rollouts are good. */
export const datasetSources = ['annotations', 'rewards'] as const;

/** The formats of a data set. */
export const datasetFormats = ['chat', 'preference'] as const;

/** The state of the data set page, as in the URL, with the filters of the run's rollouts. */
export interface DatasetSearch extends RolloutFilters {
  readonly from?: (typeof datasetSources)[number] | undefined;
  readonly format?: (typeof datasetFormats)[number] | undefined;
}

/** Reads the state from the URL; invalid values are ignored. */
export function datasetSearch(values: SearchValues): DatasetSearch {
  return definedValues({
    ...rolloutFilters(values),
    from: choiceValue(datasetSources, values['from']),
    format: choiceValue(datasetFormats, values['format']),
    mode: choiceValue(rolloutModes, values['mode']),
  });
}
