import { z } from 'zod';
import type { SamplingConfig } from '../train-config.ts';

/** Checks sampling parameters. */
export const samplingSchema: z.ZodType<SamplingConfig> = samplingWith(z.number().min(0).max(10));

/** Validates sampling parameters of training rollouts. The temperature is above 0: greedy samples do not differ. */
export const trainingSamplingSchema: z.ZodType<SamplingConfig> = samplingWith(z.number().gt(0).max(10));

function samplingWith(temperature: z.ZodNumber): z.ZodType<SamplingConfig> {
  const schema = z.strictObject({
    temperature: temperature.optional(),
    topP: z.number().gt(0).max(1).optional(),
    maxTokens: z.int().min(1).optional(),
  });
  return schema.transform((given): SamplingConfig => {
    return Object.fromEntries(Object.entries(given).filter(([, value]) => value !== undefined));
  });
}
