import { z } from 'zod';

/** The output of `agl store backup` and `restore --json`. */
export const copiedStore: z.ZodType = z.strictObject({ file: z.string(), bytes: z.number(), schema_version: z.int() });

/** The output of `agl store vacuum --json`. */
export const vacuumedStore: z.ZodType = z.strictObject({
  file: z.string(),
  bytes_before: z.number(),
  bytes_after: z.number(),
});

/** The output of `agl store migrate --json`. */
export const migratedStore: z.ZodType = z.strictObject({
  from_version: z.int(),
  to_version: z.int(),
  migrations: z.array(z.json()),
  dry_run: z.boolean(),
});

/** The output of `agl store export --json`. */
export const exportedRun: z.ZodType = z.strictObject({ run: z.string(), file: z.string(), bytes: z.number() });

/** The output of `agl store import --json`. */
export const importedRun: z.ZodType = z.strictObject({
  run: z.string(),
  name: z.string(),
  status: z.string(),
  rollouts: z.int(),
});

/** The output of `agl store delete` and `prune --json`. */
export const deletedData: z.ZodType = z.strictObject({
  runs: z.int(),
  rollouts: z.int(),
  attempts: z.int(),
  spans: z.int(),
  checkpoint_bytes: z.number(),
  checkpoints: z.array(z.string()).describe('deleted folders'),
  kept_checkpoints: z.array(z.strictObject({ path: z.string(), reason: z.string(), remedy: z.string() })),
});

/** The output of `agl store tokens revoke --json`. */
export const revokedToken: z.ZodType = z.strictObject({ revoked: z.literal(true) });

/** The output of `agl export weights --json`. */
export const exportedWeights: z.ZodType = z.strictObject({
  run: z.string(),
  step: z.int(),
  format: z.string(),
  folder: z.string(),
  files: z.array(z.strictObject({ path: z.string(), size_bytes: z.number() })),
});

/** The output of `agl export traces --json`. */
export const exportedTraces: z.ZodType = z.looseObject({ run: z.string(), url: z.string(), rollouts: z.int() });

/** The output of `agl export metrics --json`. */
export const exportedMetrics: z.ZodType = z.strictObject({
  run: z.string(),
  steps: z.int(),
  to: z.string().describe('the folder, file or server'),
});
