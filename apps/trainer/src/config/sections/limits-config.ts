import { z } from 'zod';

/**
 * The most that a run may use. At the first limit that is reached it is paused: the current step is finished and saved, and it
 * resumes with a larger one.
 */
export interface BudgetConfig {
  /** In the currency of `run.prices`, which it needs: model calls, judges, the optimiser model and the runtime. @default unlimited */
  readonly money?: number;
  /** Tokens of all model calls and judges, prompts included, and those that are trained on. @default unlimited */
  readonly tokens?: number;
  /** The time in which the run is worked on. @default unlimited */
  readonly hours?: number;
}

/** Timeouts, maximum numbers of tries, and the budget. */
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
  /** What the run may use until it is paused. @default unlimited */
  readonly budget?: BudgetConfig;
}

/** A budget; null for no limit. */
export type BudgetSettings = { readonly [Name in keyof BudgetConfig]-?: number | null };

/** The limits with their defaults. */
export interface LimitsSettings extends Required<Omit<LimitsConfig, 'budget'>> {
  /** Null without one. */
  readonly budget: BudgetSettings | null;
}

const count = z.int().min(1);
const budgetLimit = z.number().positive().nullable().default(null);

/** Validates {@link LimitsConfig}. */
export const limitsSchema: z.ZodType<LimitsSettings> = z.strictObject({
  rolloutTimeoutMs: count.default(60_000),
  maxAttempts: count.default(1),
  outageToleranceMs: z.int().min(0).default(30_000),
  runnerTimeoutMs: count.default(600_000),
  maxRestarts: z.int().min(0).default(3),
  budget: z.strictObject({ money: budgetLimit, tokens: budgetLimit, hours: budgetLimit }).nullable().default(null),
});
