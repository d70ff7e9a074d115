import { z } from 'zod';

/** How the learning rate changes over a run. */
export type LearningRateSchedule =
  | { readonly type: 'constant'; readonly warmupSteps?: number }
  | { readonly type: 'linear' | 'cosine'; readonly warmupSteps?: number; readonly finalFraction?: number };

const warmupSteps = z.int().min(0).exactOptional();

/** The shape of {@link LearningRateSchedule}. */
export const learningRateScheduleSchema: z.ZodType<LearningRateSchedule> = z.discriminatedUnion('type', [
  z.strictObject({ type: z.literal('constant'), warmupSteps }),
  z.strictObject({
    type: z.literal(['linear', 'cosine']),
    warmupSteps,
    finalFraction: z.number().min(0).max(1).exactOptional(),
  }),
]);

/**
 * By what the learning rate is multiplied in a step.
 *
 * During warm-up it rises from `1 / warmupSteps` to 1 (`warmupSteps` is 0 unless given). After that it stays, or
 * falls to `finalFraction` (0 unless given) in the last step, along a line or half a cosine wave. It knows no more than the
 * step and how many there are: for a run that is given more steps, the rate is from then on that of the longer run, which
 * is higher than the one that its last step had.
 *
 * @param schedule - how it changes
 * @param step - from 1
 * @param totalSteps - of the run
 */
export function learningRateFactor(schedule: LearningRateSchedule, step: number, totalSteps: number): number {
  const warmup = schedule.warmupSteps ?? 0;
  if (step <= warmup) return step / warmup;
  if (schedule.type === 'constant') return 1;
  const stepsAfterWarmup = totalSteps - warmup - 1;
  const progress = stepsAfterWarmup <= 0 ? 0 : Math.min(1, (step - warmup - 1) / stepsAfterWarmup);
  const remaining = schedule.type === 'linear' ? 1 - progress : (1 + Math.cos(Math.PI * progress)) / 2;
  const finalFraction = schedule.finalFraction ?? 0;
  return finalFraction + (1 - finalFraction) * remaining;
}
