import { type RolloutFilters, rolloutFilters } from './rollout-filters.ts';
import { choiceValue, definedValues, numberValue, type SearchValues } from './search-values.ts';

/** The state of the tasks page, as in the URL, with the filters of the run's rollouts. */
export interface TasksSearch extends RolloutFilters {
  readonly task?: number | undefined;
  readonly step?: number | undefined;
  /** The order of the tasks: by mean reward, lowest first, or by index. */
  readonly order?: 'reward' | undefined;
  /** Whether the texts are compared with the one of the highest reward. */
  readonly compare?: 'best' | undefined;
}

/** Reads the state from the URL; invalid values are ignored. */
export function tasksSearch(values: SearchValues): TasksSearch {
  return definedValues({
    ...rolloutFilters(values),
    task: numberValue(values['task']),
    step: numberValue(values['step']),
    order: choiceValue(['reward'], values['order']),
    compare: choiceValue(['best'], values['compare']),
  });
}
