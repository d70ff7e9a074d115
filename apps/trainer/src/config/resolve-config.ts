import { type AlgorithmOptions, parseAlgorithmOptions } from '@agentlightning/algorithms';
import { AgentLightningError } from '@agentlightning/core';
import { type WarningName, warningNames } from '@agentlightning/core/protocol';
import { parseSettings } from '@agentlightning/core/settings';
import { z } from 'zod';
import { isCheckpointReference } from './checkpoint-reference.ts';
import { ConfigProblems } from './config-problems.ts';
import { policySchema, type ResolvedPolicy, resolvePolicies } from './policies.ts';
import { definedRange, type RewardDefinition, type RewardRange, rewardDefinition } from './reward-definition.ts';
import { type CollectionSettings, collectionSchema } from './sections/collection-settings.ts';
import { type CurriculumSettings, curriculumSchema } from './sections/curriculum-settings.ts';
import { type DiagnosisSettings, diagnosisSchema } from './sections/diagnosis-settings.ts';
import { samplingSchema, trainingSamplingSchema } from './sections/sampling-schema.ts';
import { checkTokenSecret, type SharedSettings, sharedSettings, sharedShape } from './shared-settings.ts';
import { absoluteSource, type TaskSource, taskSourceSchema } from './task-source.ts';
import type { RuntimeConfig, SamplingConfig, TrainConfig } from './train-config.ts';

/** The configuration of a training, with all defaults and absolute paths. */
export interface ResolvedConfig extends SharedSettings {
  /** The project on a server, which qualifies the names of models in the runtime. @default none */
  readonly project?: string;
  readonly tasks: { readonly train: TaskSource; readonly test: TaskSource; readonly validation: TaskSource | null };
  readonly algorithm: AlgorithmOptions;
  /** In order; the first one serves calls that no other policy serves. At least one is trained. */
  readonly policies: readonly ResolvedPolicy[];
  readonly runtime: RuntimeConfig;
  /** Reference to a checkpoint of another run; null for the base model. */
  readonly from: string | null;
  readonly steps: number;
  readonly tasksPerStep: number;
  readonly sampling: SamplingConfig;
  /** The rewards of training rollouts. */
  readonly reward: RewardDefinition;
  readonly evaluation: ResolvedEvaluation & RewardDefinition & { readonly every: number };
  readonly checkpointEvery: number;
  readonly keepCheckpoints: number;
  readonly keepBestCheckpoint: boolean;
  readonly finish: 'best' | 'last';
  readonly stopAtReward: number | null;
  readonly stopWhen: ResolvedStop;
  readonly rewards: ResolvedRewards;
  readonly diagnosis: DiagnosisSettings;
  readonly collection: CollectionSettings;
  /** Null draws every task equally often. */
  readonly curriculum: CurriculumSettings | null;
  readonly maxLogprobGap: number;
}

/** Conditions that end a run before its last step. */
export interface ResolvedStop {
  readonly warnings: readonly WarningName[];
  /** Null for no limit. */
  readonly patience: number | null;
  readonly minDelta: number | 'interval';
}

/** Range and dimensions of rewards. */
export interface ResolvedRewards {
  /** The declared range of the primary dimension; null without one. */
  readonly range: RewardRange | null;
  /** The declared dimensions, by name. */
  readonly parts: Readonly<Record<string, { readonly range: RewardRange | null }>>;
}

/** Settings of evaluations, with all defaults. */
export interface ResolvedEvaluation {
  readonly tasks: number;
  readonly rolloutsPerTask: number;
  readonly sampling: SamplingConfig;
  /** Lowest and highest possible reward. @default 0 to 1, or wider as observed */
  readonly rewardRange?: readonly [low: number, high: number] | undefined;
}

const count = z.int().min(1);

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

/** A schema with the discriminator `type`, which can be an option of a larger union. */
type RuntimeSchema = z.ZodType<
  GivenRuntime,
  unknown,
  z.core.$ZodTypeInternals<GivenRuntime, unknown> & { readonly propValues: z.core.util.PropValues }
>;

interface GivenRuntime {
  readonly type: RuntimeConfig['type'];
}

/** Validates the runtime settings. */
export const runtimeSchema: RuntimeSchema = z.discriminatedUnion('type', [
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

/** Checks the range of rewards. */
export const rewardRangeSchema: z.ZodType<[low: number, high: number]> = z
  .tuple([z.number(), z.number()])
  .refine(([low, high]) => low < high, { error: 'must be [low, high] with low below high' });

const evaluationSchema = z.strictObject({
  every: z.int().min(0).default(0),
  tasks: count.default(128),
  rolloutsPerTask: count.default(1),
  sampling: samplingSchema.optional(),
  failedReward: z.number().nullable().optional(),
  missingReward: z.number().nullable().optional(),
  rewardRange: rewardRangeSchema.optional(),
});

const stopSchema = z.strictObject({
  warnings: z.array(z.enum(warningNames)).default([]),
  patience: count.nullable().default(null),
  minDelta: z.union([z.number().min(0), z.literal('interval')]).default(0),
});

const rewardsSchema = z.strictObject({
  range: rewardRangeSchema.nullable().default(null),
  parts: z.record(z.string().min(1), z.strictObject({ range: rewardRangeSchema.nullable().default(null) })).default({}),
});

const policiesSchema = z.record(z.string(), policySchema).optional();

const configSchema = z.strictObject({
  ...sharedShape,
  tasks: z.strictObject({ train: taskSourceSchema, test: taskSourceSchema, validation: taskSourceSchema.optional() }),
  failedReward: z.number().nullable().default(0),
  algorithm: z.custom<AlgorithmOptions>((value) => typeof value === 'object' && value !== null).optional(),
  policies: policiesSchema,
  modelNames: z.array(z.string().min(1)).min(1).optional(),
  runtime: runtimeSchema.optional(),
  from: z
    .string()
    .refine(isCheckpointReference, { error: 'must be a checkpoint of a run, such as run-1a2b@best' })
    .optional(),
  steps: z.int().min(0).default(30),
  tasksPerStep: count.default(16),
  sampling: trainingSamplingSchema.default({ temperature: 1 }),
  evaluation: evaluationSchema.prefault({}),
  checkpointEvery: count.optional(),
  keepCheckpoints: count.default(3),
  keepBestCheckpoint: z.boolean().default(true),
  finish: z.enum(['best', 'last']).default('best'),
  stopAtReward: z.number().optional(),
  stopWhen: stopSchema.prefault({}),
  rewards: rewardsSchema.prefault({}),
  diagnosis: diagnosisSchema.prefault({}),
  collection: collectionSchema.prefault({}),
  curriculum: curriculumSchema.optional(),
  maxLogprobGap: z.number().positive().default(0.1),
});

/** The JSON Schema of the configuration of a training. It accepts any value for functions and zod schemas. */
export function trainingJsonSchema(): Readonly<Record<string, unknown>> {
  return z.toJSONSchema(configSchema, { io: 'input', unrepresentable: 'any' });
}

/**
 * Validates a configuration and adds its defaults.
 *
 * @param value - the export of the configuration file
 * @param folder - base folder of relative paths
 * @param problems - problems found by earlier checks
 * @throws AgentLightningError CONFIG that reports every problem, and the most likely name for each unknown option
 */
export function resolveConfig(
  value: unknown,
  folder: string,
  problems: ConfigProblems = new ConfigProblems(),
): ResolvedConfig {
  const given = problems.check(() => parseSettings(configSchema, value, { hintOf: searchHint }));
  const raw: Readonly<Record<string, unknown>> = typeof value === 'object' ? { ...value } : {};
  const howToLearn = checkedAlgorithm(raw['algorithm'], problems);
  const { modelNames = [] } = given ?? {};
  const resolvedPolicies = checkedPolicies(raw['policies'], { algorithm: howToLearn, modelNames }, problems);
  checkTokenSecret(raw['tokenSecret'], problems);
  if (given !== undefined) problems.check(() => assertMeasured(given));
  if (given === undefined || !problems.isEmpty) throw problems.error();
  const { tasks, runtime, sampling, evaluation, stopAtReward } = given;
  const { steps, tasksPerStep, checkpointEvery, keepCheckpoints, keepBestCheckpoint, finish, maxLogprobGap } = given;
  const { stopWhen, rewards, diagnosis, collection, curriculum } = given;
  const reward = rewardDefinition(resolvedPolicies, given.failedReward);
  const { failedReward = reward.failedReward, missingReward = reward.missingReward } = evaluation;
  const rewardRange = evaluation.rewardRange ?? definedRange(reward.choice ?? {}, rewards);
  return {
    ...sharedSettings(given, folder),
    tasks: {
      train: absoluteSource(tasks.train, folder),
      test: absoluteSource(tasks.test, folder),
      validation: tasks.validation === undefined ? null : absoluteSource(tasks.validation, folder),
    },
    algorithm: howToLearn,
    policies: resolvedPolicies,
    runtime: (runtime ?? { type: 'embedded' }) as RuntimeConfig,
    from: given.from ?? null,
    steps,
    tasksPerStep,
    sampling,
    reward,
    evaluation: {
      ...evaluation,
      choice: reward.choice ?? {},
      failedReward,
      missingReward,
      rewardRange,
      sampling: evaluation.sampling ?? sampling,
    },
    checkpointEvery: checkpointEvery ?? (runtime?.type === 'grpc' ? 10 : 1),
    keepCheckpoints,
    keepBestCheckpoint,
    finish,
    stopAtReward: stopAtReward ?? null,
    stopWhen,
    rewards,
    diagnosis,
    collection,
    curriculum: curriculum ?? null,
    maxLogprobGap,
  };
}

/** Asserts that options that need evaluations during training have them. */
function assertMeasured({
  stopWhen,
  tasks,
  evaluation,
}: {
  readonly stopWhen: ResolvedStop;
  readonly tasks: { readonly validation?: TaskSource | undefined };
  readonly evaluation: { readonly every: number };
}): void {
  if (evaluation.every > 0) return;
  const { patience } = stopWhen;
  if (patience !== null) throw unmeasured('stopWhen.patience', `stopWhen.patience: ${patience}`);
  if (tasks.validation !== undefined) throw unmeasured('tasks.validation', 'tasks.validation:');
}

function unmeasured(name: string, subject: string): AgentLightningError {
  return new AgentLightningError({
    code: 'CONFIG',
    message: `${subject} has no effect without evaluations during training`,
    remedy: `Set \`evaluation.every\`, or remove \`${name}\`.`,
  });
}

/** The algorithm's options, checked also where another key is wrong; GRPO where they are wrong themselves. */
function checkedAlgorithm(given: unknown, problems: ConfigProblems): AlgorithmOptions {
  const fallback: AlgorithmOptions = { type: 'grpo' };
  if (typeof given !== 'object' || given === null) return fallback;
  return problems.check(() => parseAlgorithmOptions(given)) ?? fallback;
}

/** The policies, checked also where another key is wrong; none where their own shape is. */
function checkedPolicies(
  given: unknown,
  defaults: Parameters<typeof resolvePolicies>[1],
  problems: ConfigProblems,
): readonly ResolvedPolicy[] {
  const parsed = policiesSchema.safeParse(given);
  if (!parsed.success) return [];
  return problems.check(() => resolvePolicies(parsed.data as TrainConfig['policies'], defaults)) ?? [];
}

/** Hint for keys of prompt searches. */
function searchHint(key: string): string | null {
  if (!['prompts', 'optimizer', 'missingReward', 'promptsFile'].includes(key)) return null;
  return "it is of a search for better prompts: algorithm 'apo' or 'gepa'";
}
