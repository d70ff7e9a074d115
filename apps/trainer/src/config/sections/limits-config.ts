import { z } from 'zod';

/** Timeouts and maximum numbers of tries. */
export interface LimitsConfig {
  /** Timeout of a rollout, in milliseconds. @default 60000 */
  readonly rolloutTimeoutMs?: number;
  /** Maximum number of attempts per rollout. @default 1 */
  readonly maxAttempts?: number;
  /**
   * Maximum outage of store, gateway or model endpoint before the run ends, in milliseconds. Rollouts that failed because of
   * an outage are repeated. @default 30000
   */
  readonly outageToleranceMs?: number;
  /** Maximum wait of a run with `agents.processes: 0` for a runner, in milliseconds. @default 600000 */
  readonly runnerTimeoutMs?: number;
  /**
   * Maximum number of successive resumptions from the last checkpoint after the loss of the runtime, without a finished step
   * or evaluation in between. The embedded runtime is started again; a remote runtime must be restarted. @default 3
   */
  readonly maxRestarts?: number;
}

/** The limits with their defaults. */
export type LimitsSettings = Required<LimitsConfig>;

const count = z.int().min(1);

/** Validates {@link LimitsConfig}. */
export const limitsSchema: z.ZodType<LimitsSettings> = z.strictObject({
  rolloutTimeoutMs: count.default(60_000),
  maxAttempts: count.default(1),
  outageToleranceMs: z.int().min(0).default(30_000),
  runnerTimeoutMs: count.default(600_000),
  maxRestarts: z.int().min(0).default(3),
});
