import { z } from 'zod';

/** How the learning rate changes over a run. */
export type LearningRateSchedule = {
  /** The learning rate after the warm-up, more than 0. */
  readonly peak: number;
  /** Steps in which the rate rises linearly to the peak, at least 0. @default 0 */
  readonly warmupSteps?: number;
} & (
  | {
      /** The rate stays at the peak. */
      readonly schedule: 'constant';
    }
  | {
      /** The shape of the decay after the warm-up: a line, or half a cosine wave. */
      readonly schedule: 'linear' | 'cosine';
      /**
       * The last rate as a share of the peak, from 0 to 1. At 0, the last step changes nothing.
       *
       * @default 0.1
       */
      readonly finalRatio?: number;
      /**
       * The step that has the last rate, at least 1; later steps keep it. Without it, a run that continues with more steps
       * decays towards the new last step: its rate rises once, to that of the longer run.
       *
       * @default the steps of the run
       */
      readonly decaySteps?: number;
    }
);

/** A constant learning rate, at least 0, or its schedule. At 0 the weights do not change: a control of an experiment. */
export type LearningRate = number | LearningRateSchedule;

const rising = { peak: z.number().positive(), warmupSteps: z.int().min(0).exactOptional() };

/** Validates a {@link LearningRate}. */
export const learningRateSchema: z.ZodType<LearningRate> = z.union([
  z.number().min(0),
  z.discriminatedUnion('schedule', [
    z.strictObject({ schedule: z.literal('constant'), ...rising }),
    z.strictObject({
      schedule: z.literal(['linear', 'cosine']),
      ...rising,
      finalRatio: z.number().min(0).max(1).exactOptional(),
      decaySteps: z.int().min(1).exactOptional(),
    }),
  ]),
]);

/** The position of an optimizer step in a run. */
export interface OptimizerPosition {
  /** The training step, from 1. */
  readonly step: number;
  /** The number of training steps of the run. */
  readonly totalSteps: number;
  /** The optimizer step within the training step, from 0. @default 0 */
  readonly update?: number;
  /** The number of optimizer steps of the training step. @default 1 */
  readonly updates?: number;
}

/**
 * The learning rate of an optimizer step. It is a function of the position only, so a resumed run has the same rates.
 *
 * With `x = step − 1 + (update + 1) / updates`, `w = warmupSteps`, `T = decaySteps` and
 * `d = (x − max(w, 1)) / (T − max(w, 1))`, limited to 0 to 1, the rate is `peak` times
 *
 * - `x / w` during the warm-up, `x < w`;
 * - 1 with `constant`;
 * - `finalRatio + (1 − finalRatio) · (1 − d)` with `linear`;
 * - `finalRatio + (1 − finalRatio) · (1 + cos(π · d)) / 2` with `cosine`: Loshchilov and Hutter, arXiv 1608.03983, equation 5.
 */
export function learningRateAt(rate: LearningRate, position: OptimizerPosition): number {
  if (typeof rate === 'number') return rate;
  const { step, totalSteps, update = 0, updates = 1 } = position;
  const finished = step - 1 + (update + 1) / updates;
  const { peak, warmupSteps = 0 } = rate;
  if (finished < warmupSteps) return (peak * finished) / warmupSteps;
  if (rate.schedule === 'constant') return peak;
  const { finalRatio = 0.1, decaySteps = totalSteps } = rate;
  const start = Math.max(warmupSteps, 1);
  const decayed =
    finished <= start ? 0 : decaySteps <= start ? 1 : Math.min(1, (finished - start) / (decaySteps - start));
  const remaining = rate.schedule === 'linear' ? 1 - decayed : (1 + Math.cos(Math.PI * decayed)) / 2;
  return peak * (finalRatio + (1 - finalRatio) * remaining);
}
