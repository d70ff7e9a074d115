import { createContext } from 'react';

/** A line of a chart. */
export interface ChartLine {
  readonly label: string;
  readonly values: readonly (number | null)[];
  /** Colour variable of the style sheet. */
  readonly color: string;
  /** Whether only points are drawn, connected by thin dashes: values of a few steps. */
  readonly isSparse?: boolean;
  /** Whether it is a threshold: dashed, and without effect on the range of the axis. */
  readonly isLimit?: boolean;
  /** Whether it is drawn thin and pale, without an entry in the legend: the values behind a smoothed line. */
  readonly isFaint?: boolean;
  /** Values of the legend, where they differ from those that are drawn. @default values */
  readonly legendValues?: readonly (number | null)[];
  /** Lower and upper bounds, drawn as a band. */
  readonly band?: { readonly low: readonly (number | null)[]; readonly high: readonly (number | null)[] };
}

/** How the charts of a page are drawn. */
export interface ChartView {
  /** The marked step; null for none. */
  readonly step: number | null;
  /** The share of the past in a smoothed value, below 1; 0 for none. */
  readonly smoothing: number;
  /** Seconds since the start of the run at a step; null where the axis has steps. */
  readonly secondsAt: ((step: number) => number) | null;
}

/** The view of the charts below. */
export const ChartViewContext = createContext<ChartView>({ step: null, smoothing: 0, secondsAt: null });

/** The time of steps in seconds since a start; steps between two known ones have that of the earlier one. */
export function stepTimes(
  { steps, timesMs }: { readonly steps: readonly number[]; readonly timesMs: readonly number[] },
  startMs: number,
): (step: number) => number {
  return (step) => {
    const timeMs = timesMs[steps.findLastIndex((each) => each <= step)];
    return timeMs === undefined ? 0 : Math.max(0, (timeMs - startMs) / 1000);
  };
}

/** The exponential moving average of values without the bias of its start, as in TensorBoard; null stays null. */
export function smoothed(values: readonly (number | null)[], share: number): readonly (number | null)[] {
  let sum = 0;
  let weight = 0;
  return values.map((value) => {
    if (value === null) return null;
    sum = sum * share + value * (1 - share);
    weight = weight * share + (1 - share);
    return sum / weight;
  });
}

/** The lines with those of steps smoothed, each above its faint recorded values. */
export function smoothedLines(lines: readonly ChartLine[], share: number): readonly ChartLine[] {
  if (share === 0) return lines;
  return lines.flatMap((line) => {
    const { isSparse = false, isLimit = false, legendValues, band: _band, ...rest } = line;
    if (isSparse || isLimit || legendValues !== undefined) return [line];
    return [
      { ...rest, isFaint: true },
      { ...rest, values: smoothed(line.values, share) },
    ];
  });
}
