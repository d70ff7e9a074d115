import { choiceValue, definedValues, numberValue, type SearchValues, textValue } from './search-values.ts';

/** The statuses of rollouts, in the order of their life. */
export const rolloutStatuses = [
  'queuing',
  'preparing',
  'running',
  'succeeded',
  'failed',
  'requeuing',
  'cancelled',
] as const;

/** The purposes of rollouts. */
export const rolloutModes = ['train', 'val', 'test', 'production'] as const;

/** The filters by the label of a person. */
export const rolloutLabels = ['good', 'bad', 'none', 'any'] as const;

/** The orders of rollouts. */
export const rolloutSorts = ['newest', 'oldest', 'reward-high', 'reward-low'] as const;

/** The filters of the list of rollouts, as in the URL. */
export interface RolloutFilters {
  readonly run?: string | undefined;
  readonly status?: (typeof rolloutStatuses)[number] | undefined;
  readonly mode?: (typeof rolloutModes)[number] | undefined;
  readonly task?: number | undefined;
  readonly step?: number | undefined;
  readonly id?: string | undefined;
  readonly text?: string | undefined;
  readonly label?: (typeof rolloutLabels)[number] | undefined;
  readonly minReward?: number | undefined;
  readonly maxReward?: number | undefined;
  readonly sort?: (typeof rolloutSorts)[number] | undefined;
}

/** Reads the filters from the URL; invalid ones are ignored. */
export function rolloutFilters(values: SearchValues): RolloutFilters {
  return definedValues({
    run: textValue(values['run']),
    status: choiceValue(rolloutStatuses, values['status']),
    mode: choiceValue(rolloutModes, values['mode']),
    task: numberValue(values['task']),
    step: numberValue(values['step']),
    id: textValue(values['id']),
    text: textValue(values['text']),
    label: choiceValue(rolloutLabels, values['label']),
    minReward: numberValue(values['minReward']),
    maxReward: numberValue(values['maxReward']),
    sort: choiceValue(rolloutSorts, values['sort']),
  });
}
