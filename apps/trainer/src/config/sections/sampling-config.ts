import { z } from 'zod';

/** Sampling parameters. Absent fields are taken from the agent's request. */
export interface SamplingConfig {
  /** Sampling temperature; above 0 for training, because greedy samples do not differ. */
  readonly temperature?: number;
  /** Nucleus sampling. Use 1 for training: otherwise the recorded log-probabilities are not those of the policy. */
  readonly topP?: number;
  /** Maximum length of a response, in tokens. */
  readonly maxTokens?: number;
}

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
