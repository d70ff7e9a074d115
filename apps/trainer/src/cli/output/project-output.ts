import { z } from 'zod';

/** The output of `agl init --json`. */
export const initOutcome: z.ZodType = z.strictObject({
  framework: z.string(),
  version: z.string().nullable(),
  adapter: z.string(),
  changes: z.array(z.strictObject({ file: z.string(), diff: z.string() })),
  calls: z.string().nullable().describe('the export that the new configuration calls; null without one'),
  other_exports: z.array(z.string()).describe('the other exports of the agent file'),
  packages: z.array(z.string()).describe('packages to install'),
  written: z.boolean().describe('false without --yes'),
  type_errors: z
    .array(z.object({ code: z.string(), line: z.int(), message: z.string() }))
    .nullable()
    .describe('the errors of the project’s type check in a new configuration; null without a type check'),
});

/** The output of `agl doctor --json`. */
export const diagnosis: z.ZodType = z.strictObject({
  findings: z.array(
    z.strictObject({
      name: z.string(),
      status: z.enum(['ok', 'warning', 'error', 'skipped']),
      detail: z.string(),
      remedy: z.string().nullable(),
    }),
  ),
  errors: z.int(),
  warnings: z.int(),
});

/** The output of `agl tasks from-mcp --json`. */
export const generatedTasks: z.ZodType = z.strictObject({
  tasks: z.int(),
  proposed: z.int().describe('questions that the model proposed'),
  dropped: z
    .strictObject({ duplicate: z.int(), disagreement: z.int(), guessed: z.int(), tooLong: z.int() })
    .describe('questions that became no tasks, by reason'),
  train: z.int().describe('tasks in `out`'),
  test: z.int().describe('tasks in `testOut`'),
  out: z.string(),
  testOut: z.string().nullable(),
});

/** The output of `agl stop --json`. */
export const stoppedRun: z.ZodType = z.strictObject({
  type: z.literal('stopped'),
  runId: z.string(),
  status: z.string(),
  wasRunning: z.boolean(),
});

/** The output of `agl config print --json`. */
export const serverSettings: z.ZodType = z.strictObject({
  settings: z.array(
    z.strictObject({
      name: z.string(),
      value: z.union([z.string(), z.number()]).nullable(),
      source: z.enum(['flag', 'environment', 'file', 'default']),
      position: z.string().nullable().describe('the flag, variable or line; null for a default'),
    }),
  ),
});

/** An access key, without its secret. */
const accessKey = {
  id: z.string(),
  name: z.string(),
  role: z.string(),
  project: z.string().nullable().describe('null for all projects'),
  created: z.string(),
  expires: z.string().nullable(),
  revoked: z.string().nullable(),
};

/** The output of `agl keys create --json`. */
export const createdKey: z.ZodType = z.strictObject({ key: z.string().describe('the secret'), ...accessKey });

/** The output of `agl keys revoke --json`, and a line of `agl keys list --json`. */
export const listedKey: z.ZodType = z.strictObject(accessKey);

/** The output of `agl config migrate`. */
export const migratedConfig: z.ZodType = z.strictObject({
  file: z.string(),
  /** As `line: former → present`. */
  renamed: z.array(z.string()),
  written: z.boolean(),
});
