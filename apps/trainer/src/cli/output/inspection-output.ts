import { promptKinds } from '@agentlightning/core/internal';
import { completionReasons } from '@agentlightning/core/protocol';
import { z } from 'zod';

const time = z.iso.datetime();

const cost = z
  .strictObject({
    amount: z.number().nullable().describe('null when no price is known'),
    currency: z.string(),
    missing: z.array(z.string()).describe('the unknown prices, with the setting that each needs'),
  })
  .describe('the cost at the prices of the configuration of the run');

/** The comparison of the candidate of a deployment with the live version by one quantity. */
const metricVerdict = z.strictObject({
  metric: z.string().describe('score, failures, latency, cost, or a part of the reward such as score/tone'),
  verdict: z.enum(['better', 'worse', 'not-shown', 'unknown']),
  live: z.number().nullable(),
  candidate: z.number().nullable(),
  liveCount: z.int().describe('users'),
  candidateCount: z.int(),
  low: z.number().nullable().describe('bounds of candidate minus live, which hold at all looks'),
  high: z.number().nullable(),
  reason: z.string().describe('why it is unknown'),
});

/** A deployment: what `agl deploy` and `agl deployments` write. */
export const deploymentLine: z.ZodType = z.strictObject({
  deployment: z.string(),
  live: z.string().nullable().describe('the live version'),
  candidate: z
    .strictObject({
      version: z.string(),
      share: z.number().describe('of the users, from 0 to 1'),
      since: time,
      promoteWhen: z.enum(['better']).nullable(),
      maxCostRatio: z.number(),
      verdict: z
        .strictObject({
          verdict: z.enum(['better', 'worse', 'not-shown', 'unknown']),
          guard: z.string().nullable().describe('why it is to be rolled back'),
          traces: z.strictObject({ live: z.int(), candidate: z.int() }),
          metrics: z.array(metricVerdict),
        })
        .nullable()
        .describe('of `agl deployments`'),
    })
    .nullable(),
  history: z.array(
    z.strictObject({
      action: z.enum(['promote', 'rollback', 'canary']),
      version: z.string().describe('live since then; the candidate, for a canary'),
      previous: z.string().nullable(),
      share: z.number().nullable(),
      by: z.string(),
      reason: z.string(),
      time,
    }),
  ),
});

/** A version that is or was live. */
export const modelLine: z.ZodType = z.strictObject({
  version: z.string(),
  kind: z.enum(['weights', 'vendor', 'prompts', 'endpoint']),
  run: z.string().nullable(),
  step: z.int().nullable(),
  baseModel: z.string().nullable(),
  license: z.string().nullable().describe('of the base model, in the words of its publisher; null when unknown'),
  data: z.string().nullable().describe('identifies the training tasks or data'),
  configSha256: z.string().nullable(),
  source: z.json().describe('where it is served from'),
  location: z.json().describe('the checkpoints by policy, or the name of a vendor’s model'),
  digest: z.string().nullable(),
  prompts: z.json(),
  reward: z.number().nullable().describe('held-out, after the run'),
  deployments: z.array(z.strictObject({ name: z.string(), isLive: z.boolean() })),
});

/** A line of `agl runs --json`. */
export const runLine: z.ZodType = z.strictObject({
  run: z.string(),
  name: z.string(),
  kind: z.string().describe('training, prompt-search, evaluation, dev, deployment or dataset'),
  status: z.string(),
  step: z.int(),
  steps: z.int().nullable(),
  prompts: z.record(z.string(), z.enum(promptKinds)).optional().describe('of a prompt search, with their kinds'),
  versions: z.int().optional().describe('of a prompt search'),
  rollouts: z.int().optional().describe('of a prompt search'),
  from: z.string().optional().describe('the initial checkpoint, of another run'),
  reward_before: z.number().nullable(),
  reward_after: z.number().nullable(),
  unsolved_tasks: z
    .array(z.strictObject({ task: z.int(), rollouts: z.int(), examples: z.array(z.string()) }))
    .optional()
    .describe('set aside by the curriculum, with the last rollouts of each'),
  stages: z
    .array(
      z.strictObject({
        algorithm: z.string(),
        first_step: z.int(),
        last_step: z.int(),
        start_step: z.int().nullable().describe('the step of the checkpoint that it began with'),
        ended: z.enum(completionReasons).nullable(),
      }),
    )
    .optional()
    .describe('begun, of a run with stages'),
  cost,
  started: time,
});

/** A line of `agl rollouts --json`. */
export const rolloutLine: z.ZodType = z.strictObject({
  rollout: z.string(),
  run: z.string().nullable(),
  status: z.string(),
  mode: z.enum(['train', 'val', 'test', 'production']).nullable(),
  attempts: z.int(),
  worker: z.string().nullable(),
  started: time,
  reward: z.number().nullable(),
  seconds: z.number().nullable(),
  reason: z.string().nullable().describe('why the infrastructure failed it'),
  task: z.json(),
});

const datasetPart = z.strictObject({ lines: z.int(), sha256: z.string() });

/** A line of `agl datasets --json`. */
export const datasetLine: z.ZodType = z.strictObject({
  dataset: z.string().describe('name@version'),
  format: z.enum(['chat', 'preference', 'tasks']),
  parts: z.strictObject({ train: datasetPart, test: datasetPart }),
  selection: z.record(z.string(), z.json()),
  by: z.string(),
  created: time,
});

/** A line of `agl workers --json`. */
export const workerLine: z.ZodType = z.strictObject({
  runner: z.string(),
  version: z.string(),
  host: z.string(),
  pid: z.int(),
  state: z.enum(['running', 'draining', 'lost']),
  running: z.int(),
  concurrency: z.int(),
  processes: z.int(),
  run: z.string().nullable(),
  memory_bytes: z.number(),
  last_heartbeat: time,
});

/** A span as the API has it; attributes have OpenTelemetry's names. */
const span = z.looseObject({
  rolloutId: z.string(),
  attemptId: z.string(),
  spanId: z.string(),
  parentId: z.string().nullable(),
  name: z.string(),
  attributes: z.record(z.string(), z.json()),
});

/** The output of `agl show --json`. */
export const shownRollout: z.ZodType = z.strictObject({
  rollout: z.looseObject({ rolloutId: z.string(), status: z.string(), input: z.json() }),
  cost,
  spans: z.array(span),
});

/** The output of `agl trace --json`. */
export const tracedTask: z.ZodType = z.strictObject({
  spans: z.array(span),
  reward: z.number().nullable(),
  conversation: z.array(z.looseObject({ role: z.string() })),
  error: z.string().nullable(),
});

/** The output of `agl prompts --json`. */
export const promptVersions: z.ZodType = z.strictObject({
  run: z.string(),
  best: z.string().nullable().optional(),
  ended: z.enum(['finished', 'budget', 'no-new-version']).nullable().optional(),
  versions: z.array(
    z.strictObject({
      version: z.string(),
      parents: z.array(z.string()),
      score: z.number().nullable(),
      scored_tasks: z.int(),
      task_scores: z.json(),
      prompts: z.json(),
    }),
  ),
  diff: z.strictObject({ from: z.string(), to: z.string(), text: z.string() }).optional(),
});
