import { z } from 'zod';

/** How agents run. */
export interface AgentsConfig {
  /**
   * Number of processes that run agents, from 0 to 256; they share the concurrency. 0 for external runners only. @default 1
   */
  readonly processes?: number;
  /** Number of concurrent rollouts, at most 4096. @default 32 */
  readonly concurrency?: number;
  /**
   * Whether agents run in the trainer's process, where one that blocks the event loop or exits ends the training. Always so
   * for an agent that was passed to `Trainer` as a function, which cannot be sent to another process. @default false
   */
  readonly inProcess?: boolean;
  /**
   * Names of the environment variables that agents in worker processes get, besides basic ones: `PATH`, `HOME`, `USER`,
   * `LOGNAME`, `LANG`, `LC_*`, `TZ`, `TMPDIR`, `NODE_*` without credentials. `agl runner` has `--agent-env`. @default all but
   * the keys and secrets of Agent Lightning, which are never passed on
   */
  readonly env?: readonly string[];
  /**
   * The names by which agents request the policy, such as `gpt-4.1`. Calls of other models are then rejected with 404 by
   * the gateway of this process: a judge is not the policy. Exclude them in the adapter (`shouldTrace`, `shouldRedirect`).
   * A run with `policies` has names for each.
   *
   * @default any name is the policy; two of them cause a warning
   */
  readonly modelNames?: readonly string[];
}

/** The settings of agents with their defaults. */
export interface AgentsSettings {
  /** 0 for runners elsewhere only. */
  readonly processes: number;
  readonly concurrency: number;
  readonly inProcess: boolean;
  /** Null for all. */
  readonly env: readonly string[] | null;
  readonly modelNames: readonly string[];
}

const names = z.array(z.string().min(1));

/** Validates {@link AgentsConfig}. */
export const agentsSchema: z.ZodType<AgentsSettings> = z.strictObject({
  processes: z.int().min(0).max(256).default(1),
  concurrency: z.int().min(1).max(4096).default(32),
  inProcess: z.boolean().default(false),
  env: names.nullable().default(null),
  modelNames: names.default([]),
});
