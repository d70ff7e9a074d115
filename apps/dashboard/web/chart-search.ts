import { choiceValue, definedValues, numberValue, type SearchValues } from './search-values.ts';

/** Shares of the past in a smoothed value, as TensorBoard has them. */
export const smoothings = [0.6, 0.9, 0.97] as const;

/** How charts are drawn, as in the URL. */
export interface ChartSearch {
  /** The horizontal axis; steps by default. */
  readonly axis?: 'time' | undefined;
  /** Exponential smoothing; none by default. */
  readonly smooth?: (typeof smoothings)[number] | undefined;
}

/** Reads the state from the URL; invalid values are ignored. */
export function chartSearch(values: SearchValues): ChartSearch {
  return definedValues({
    axis: choiceValue(['time'] as const, values['axis']),
    smooth: smoothings.find((each) => each === numberValue(values['smooth'])),
  });
}
