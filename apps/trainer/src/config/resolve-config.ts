import path from 'node:path';
import { type AlgorithmOptions, parseAlgorithmOptions } from '@agentlightning/algorithms';
import type { AttemptTokens } from '@agentlightning/core/protocol';
import type { Agent } from '@agentlightning/runner';
import { z } from 'zod';
import { attemptTokensOf } from './attempt-tokens.ts';
import { configError, type KnownKeys } from './config-error.ts';
import { policySchema, type ResolvedPolicy, resolvePolicies } from './policies.ts';
import { absoluteSource, type TaskSource, taskSourceSchema } from './task-source.ts';
import type { RuntimeConfig, SamplingConfig, TrainConfig } from './train-config.ts';

/** A configuration with every default filled in and every path absolute. */
export interface ResolvedConfig {
  readonly name: string;
  readonly agent: Agent<unknown>;
  readonly tasks: { readonly train: TaskSource; readonly test: TaskSource };
  readonly taskSchema: z.ZodType | null;
  readonly algorithm: AlgorithmOptions;
  /** In order; the first one answers calls that are no other's. At least one is trained. */
  readonly policies: readonly ResolvedPolicy[];
  readonly runtime: RuntimeConfig;
  readonly storeUrl: string;
  readonly storeApiKey: string | null;
  readonly attemptTokens: AttemptTokens | null;
  readonly gatewayUrl: string | null;
  readonly steps: number;
  readonly tasksPerStep: number;
  readonly concurrency: number;
  readonly rolloutTimeoutMs: number;
  readonly maxAttempts: number;
  readonly sampling: SamplingConfig;
  readonly evaluation: {
    readonly every: number;
    readonly tasks: number;
    readonly rolloutsPerTask: number;
    readonly sampling: SamplingConfig;
  };
  readonly checkpointEvery: number;
  readonly keepCheckpoints: number;
  readonly stopAtReward: number | null;
  readonly maxLogprobGap: number;
  readonly dataDir: string;
  readonly seed: number;
}

const count = z.int().min(1);

const samplingSchema = z.strictObject({
  temperature: z.number().min(0).max(10).optional(),
  topP: z.number().gt(0).max(1).optional(),
  maxTokens: count.optional(),
});

const loraSchema = z.strictObject({
  rank: count,
  alpha: z.number().gt(0).optional(),
  targetModules: z.array(z.string().min(1)).min(1).optional(),
});

const tlsSchema = z
  .strictObject({
    authority: z.string().optional(),
    certificate: z.string().optional(),
    privateKey: z.string().optional(),
    serverName: z.string().optional(),
  })
  .refine(({ certificate, privateKey }) => (certificate === undefined) === (privateKey === undefined), {
    error: 'certificate and privateKey come together',
  });

const hashSchema = z.string().regex(/^[0-9a-fA-F]{64}$/, { error: 'must be 64 hexadecimal digits' });

const runtimeSchema = z.discriminatedUnion('type', [
  z.strictObject({ type: z.literal('embedded'), model: z.string().optional() }),
  z.strictObject({
    type: z.literal('grpc'),
    address: z.string().min(1),
    model: z.string().optional(),
    apiKey: z.string().optional(),
    inferenceApiKey: z.string().optional(),
    tls: tlsSchema.optional(),
    lora: loraSchema.optional(),
    tokenizerSha256: hashSchema.optional(),
    chatTemplateSha256: hashSchema.optional(),
  }),
]);

const isFunction = (value: unknown): boolean => typeof value === 'function';
const tasksSchema = z.strictObject({ train: taskSourceSchema, test: taskSourceSchema });

const storeSchema = z.strictObject({ url: z.string().optional(), apiKey: z.string().optional() });

/** Without chance there is nothing to compare. */
const trainingSamplingSchema = samplingSchema.extend({ temperature: z.number().gt(0).max(10).optional() });

const evaluationSchema = z.strictObject({
  every: z.int().min(0).default(0),
  tasks: count.default(128),
  rolloutsPerTask: count.default(1),
  sampling: samplingSchema.optional(),
});

const configSchema = z.strictObject({
  name: z.string().min(1).optional(),
  agent: z.custom<Agent<unknown>>(isFunction, 'must be a function (task, context) => reward'),
  tasks: tasksSchema,
  taskSchema: z.custom<z.ZodType>((value) => value instanceof z.ZodType, 'must be a zod schema').optional(),
  algorithm: z.custom<AlgorithmOptions>((value) => typeof value === 'object' && value !== null).optional(),
  policies: z.record(z.string(), policySchema).optional(),
  runtime: runtimeSchema.optional(),
  store: storeSchema.optional(),
  tokenSecret: z.string().optional(),
  gatewayUrl: z.url().optional(),
  steps: z.int().min(0).default(30),
  tasksPerStep: count.default(16),
  concurrency: count.max(4096).default(32),
  rolloutTimeoutMs: count.default(60_000),
  maxAttempts: count.default(1),
  sampling: trainingSamplingSchema.default({ temperature: 1 }),
  evaluation: evaluationSchema.prefault({}),
  checkpointEvery: count.default(1),
  keepCheckpoints: count.default(3),
  stopAtReward: z.number().optional(),
  maxLogprobGap: z.number().positive().default(0.1),
  dataDir: z.string().min(1).default('.agl'),
  seed: z.int().min(0).max(0xffffffff).default(0),
});

/**
 * Checks a configuration and fills in its defaults.
 *
 * @param value - what the configuration file exports
 * @param folder - the folder that relative paths start from
 * @throws AgentLightningError CONFIG that names every wrong key, and the nearest right one
 */
export function resolveConfig(value: unknown, folder: string): ResolvedConfig {
  const result = configSchema.safeParse(value);
  if (!result.success) throw configError(result.error.issues, knownKeys, searchHint);
  const { store, runtime, evaluation, algorithm, policies, gatewayUrl, taskSchema, ...optional } = result.data;
  const { stopAtReward, tokenSecret, ...rest } = optional;
  const dataDir = path.resolve(folder, rest.dataDir);
  const howToLearn = parseAlgorithmOptions(algorithm ?? { type: 'grpo' });
  return {
    ...rest,
    name: rest.name ?? path.basename(folder),
    tasks: { train: absoluteSource(rest.tasks.train, folder), test: absoluteSource(rest.tasks.test, folder) },
    taskSchema: taskSchema ?? null,
    algorithm: howToLearn,
    policies: resolvePolicies(policies as TrainConfig['policies'], howToLearn),
    runtime: (runtime ?? { type: 'embedded' }) as RuntimeConfig,
    storeUrl: store?.url === undefined ? `sqlite:${path.join(dataDir, 'agl.db')}` : storeAddress(store.url, folder),
    storeApiKey: store?.apiKey ?? null,
    attemptTokens: attemptTokensOf(tokenSecret),
    gatewayUrl: gatewayUrl ?? null,
    sampling: rest.sampling as SamplingConfig,
    evaluation: { ...evaluation, sampling: (evaluation.sampling ?? rest.sampling) as SamplingConfig },
    stopAtReward: stopAtReward ?? null,
    dataDir,
  };
}

function storeAddress(url: string, folder: string): string {
  const file = /^sqlite:(?!:memory:)(.+)$/.exec(url)?.[1];
  return file === undefined ? url : `sqlite:${path.resolve(folder, file)}`;
}

/** Keys that only a search for prompts has. */
function searchHint(key: string): string | null {
  if (!['prompts', 'optimizer', 'failedReward', 'missingReward', 'promptsFile'].includes(key)) return null;
  return "it is of a search for better prompts: algorithm 'apo' or 'gepa'";
}

const knownKeys: KnownKeys = {
  '': Object.keys(configSchema.shape),
  tasks: Object.keys(tasksSchema.shape),
  store: Object.keys(storeSchema.shape),
  runtime: runtimeSchema.options.flatMap(({ shape }) => Object.keys(shape)),
  'runtime.tls': Object.keys(tlsSchema.shape),
  'runtime.lora': Object.keys(loraSchema.shape),
  sampling: Object.keys(samplingSchema.shape),
  evaluation: Object.keys(evaluationSchema.shape),
  'policies.*': Object.keys(policySchema.shape),
  'evaluation.sampling': Object.keys(samplingSchema.shape),
};
