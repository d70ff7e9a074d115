import { z } from 'zod';
import { defaultRolloutConfig, type RolloutConfig } from '../../store/rollout.ts';
import { msFromSecondsOrNull, secondsFromMsOrNull } from '../wire-time.ts';
import { wireAttemptStatusSchema } from './wire-attempt.ts';

/** A rollout's configuration in the store protocol. Absent fields have their defaults. */
export const rolloutConfigCodec: z.ZodType<RolloutConfig> = z.codec(
  z.object({
    timeout_seconds: z.number().nullish(),
    unresponsive_seconds: z.number().nullish(),
    max_attempts: z.int().min(1).optional(),
    retry_condition: z.array(wireAttemptStatusSchema).optional(),
  }),
  z.custom<RolloutConfig>(),
  {
    decode: (wire) => ({
      timeoutMs: msFromSecondsOrNull(wire.timeout_seconds),
      unresponsiveMs: msFromSecondsOrNull(wire.unresponsive_seconds),
      maxAttempts: wire.max_attempts ?? defaultRolloutConfig.maxAttempts,
      retryCondition: wire.retry_condition ?? defaultRolloutConfig.retryCondition,
    }),
    encode: (config) => ({
      timeout_seconds: secondsFromMsOrNull(config.timeoutMs),
      unresponsive_seconds: secondsFromMsOrNull(config.unresponsiveMs),
      max_attempts: config.maxAttempts,
      retry_condition: [...config.retryCondition],
    }),
  },
);

/** Adds the defaults of absent fields. */
export function completeRolloutConfig(config: Partial<RolloutConfig>): RolloutConfig {
  return {
    timeoutMs: config.timeoutMs ?? null,
    unresponsiveMs: config.unresponsiveMs ?? null,
    maxAttempts: config.maxAttempts ?? defaultRolloutConfig.maxAttempts,
    retryCondition: config.retryCondition ?? defaultRolloutConfig.retryCondition,
  };
}
