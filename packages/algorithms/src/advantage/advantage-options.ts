import type { AdvantageEstimator } from '@agentlightning/core';
import { z } from 'zod';
import { grpoAdvantage } from './grpo-advantage.ts';
import { meanCentredAdvantage } from './mean-centred-advantage.ts';

/** An advantage estimator by name: what a configuration file says. */
export type AdvantageOptions = { readonly type: 'grpo' } | { readonly type: 'dr-grpo' };

/** The shape of {@link AdvantageOptions}. */
export const advantageOptionsSchema: z.ZodType<AdvantageOptions> = z.discriminatedUnion('type', [
  z.strictObject({ type: z.literal('grpo') }),
  z.strictObject({ type: z.literal('dr-grpo') }),
]);

/** Makes the advantage estimator that the options name. */
export function advantageEstimator(options: AdvantageOptions): AdvantageEstimator {
  switch (options.type) {
    case 'grpo':
      return grpoAdvantage();
    case 'dr-grpo':
      return meanCentredAdvantage();
  }
}
