import type { Run } from '@agentlightning/core';
import type { MetricPoint } from '@agentlightning/core/store';

/** Destination of the metrics of a run. */
export interface MetricSink {
  /** Writes further steps, in order. */
  write(points: readonly MetricPoint[]): Promise<void>;
  /**
   * Completes the output.
   *
   * @param run - the run, with its current status
   * @returns where the output is, for people
   */
  close(run: Run): Promise<string>;
}

/** A finite metric of a step. */
export interface MetricValue {
  readonly name: string;
  readonly value: number;
  readonly step: number;
  /** Unix milliseconds. */
  readonly timeMs: number;
}

/** The finite values of steps. Tools cannot draw the others. */
export function metricValues(points: readonly MetricPoint[]): readonly MetricValue[] {
  return points.flatMap(({ values, step, timeMs }) =>
    Object.entries(values)
      .filter(([, value]) => Number.isFinite(value))
      .map(([name, value]) => ({ name, value, step, timeMs })),
  );
}
