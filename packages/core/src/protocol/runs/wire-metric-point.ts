import { z } from 'zod';
import type { MetricPoint } from '../../store/run.ts';
import { msFromSeconds, secondsFromMs } from '../wire-time.ts';

/** The metrics of a step. Null encodes a value that is not finite, because JSON has neither NaN nor infinity. */
export const metricPointCodec: z.ZodType<MetricPoint> = z.codec(
  z.object({
    run_id: z.string(),
    step: z.int().min(0),
    time: z.number(),
    values: z.record(z.string(), z.number().nullable()),
  }),
  z.custom<MetricPoint>(),
  {
    decode: ({ run_id, step, time, values }) => ({
      runId: run_id,
      step,
      timeMs: msFromSeconds(time),
      values: mapValues(values, (value) => value ?? Number.NaN),
    }),
    encode: ({ runId, step, timeMs, values }) => ({
      run_id: runId,
      step,
      time: secondsFromMs(timeMs),
      values: mapValues(values, (value) => (Number.isFinite(value) ? value : null)),
    }),
  },
);

function mapValues<TFrom, TTo>(
  values: Readonly<Record<string, TFrom>>,
  map: (value: TFrom) => TTo,
): Record<string, TTo> {
  return Object.fromEntries(Object.entries(values).map(([name, value]) => [name, map(value)]));
}
