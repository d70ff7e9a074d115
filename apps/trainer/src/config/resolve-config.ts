import type { AlgorithmOptions } from '@agentlightning/algorithms';
import { parseAlgorithmOptions } from '@agentlightning/algorithms/internal';
import { AgentLightningError } from '@agentlightning/core';
import type { TaskSchema } from '@agentlightning/core/internal';
import { parseSettings } from '@agentlightning/core/settings';
import { z } from 'zod';
import { ConfigProblems } from './config-problems.ts';
import { policySchema, type ResolvedPolicy, resolvePolicies } from './policies.ts';
import { needsSamplingLogprobs } from './policy-learner.ts';
import { choiceOfParts, type RewardDefinition, rewardDefinition } from './reward-definition.ts';
import { type CheckpointsSettings, checkpointsSchema } from './sections/checkpoints-config.ts';
import { type CollectionSettings, collectionSchema } from './sections/collection-config.ts';
import { dataSchema, type ResolvedData, resolveData } from './sections/data-config.ts';
import { evaluationSchema, type ResolvedEvaluation } from './sections/evaluation-config.ts';
import type { RewardsSettings } from './sections/reward-config.ts';
import { type ResolvedRuntime, runtimeSchema } from './sections/runtime-config.ts';
import { type SamplingConfig, trainingSamplingSchema } from './sections/sampling-config.ts';
import { type StopSettings, stopSchema } from './sections/stop-config.ts';
import {
  checkBudget,
  checkTokenSecret,
  type SharedSettings,
  sharedSettings,
  sharedShape,
  taskSchemaSchema,
} from './shared-settings.ts';
import { absoluteSource, hasTasks, type TaskSource, taskSourceSchema } from './task-source.ts';
import type { TrainConfig } from './train-config.ts';

/** The configuration of a training, with all defaults and absolute paths. */
export interface ResolvedConfig extends SharedSettings {
  /** The project on a server, which qualifies the names of models in the runtime. @default none */
  readonly project?: string;
  /** Stored rollouts or examples to train on; null for a run that collects rollouts. */
  readonly data: ResolvedData | null;
  /** Whether there is an agent: a run on stored data without test tasks needs none. */
  readonly hasAgent: boolean;
  readonly tasks: { readonly train: TaskSource; readonly test: TaskSource; readonly validation: TaskSource | null };
  readonly algorithm: AlgorithmOptions;
  /** In order; the first one serves calls that no other policy serves. At least one is trained. */
  readonly policies: readonly ResolvedPolicy[];
  readonly runtime: ResolvedRuntime;
  /** The step of the run at which it ends, or its present stage. */
  readonly steps: number;
  readonly tasksPerStep: number;
  readonly sampling: SamplingConfig;
  /** The reward that is maximised and measured. */
  readonly reward: RewardDefinition;
  readonly evaluation: ResolvedEvaluation;
  readonly checkpoints: CheckpointsSettings;
  readonly stop: StopSettings;
  readonly collection: CollectionSettings;
  /** The stages of the run, in order; none for a run without. */
  readonly stages: readonly ResolvedStage[];
  /** The stage that the other settings are of; null in a run without stages, and before it has begun. */
  readonly stage: PresentStage | null;
}

/** The settings that differ between the stages of a run. */
type StageSettings = Pick<
  ResolvedConfig,
  'algorithm' | 'policies' | 'steps' | 'tasksPerStep' | 'sampling' | 'stop' | 'data' | 'collection'
>;

/** A stage of a run, with all defaults. */
export interface ResolvedStage extends StageSettings {
  /** The number of its steps, without those of other stages. */
  readonly steps: number;
  /** The checkpoint of the stage before that it begins with. */
  readonly from: 'best' | 'final';
  readonly train: TaskSource;
  /** Schema of its training tasks. */
  readonly trainSchema: TaskSchema | null;
}

/** The stage that a configuration is of. */
export interface PresentStage {
  /** From 0. */
  readonly index: number;
  /** The number of steps of the stages before, as many as they had. */
  readonly firstStep: number;
  /** The number of steps of the run, if later stages have all of theirs. */
  readonly totalSteps: number;
}

const count = z.int().min(1);

const policiesSchema = z.record(z.string(), policySchema).optional();

const configSchema = z.strictObject({
  ...sharedShape,
  tasks: z.strictObject({
    train: taskSourceSchema,
    test: taskSourceSchema,
    validation: taskSourceSchema.optional(),
    schema: taskSchemaSchema.optional(),
  }),
  algorithm: z.custom<AlgorithmOptions>((value) => typeof value === 'object' && value !== null).optional(),
  policies: policiesSchema,
  runtime: runtimeSchema.optional(),
  steps: z.int().min(0).default(30),
  tasksPerStep: count.default(16),
  sampling: trainingSamplingSchema.default({ temperature: 1 }),
  evaluation: evaluationSchema.prefault({}),
  checkpoints: checkpointsSchema.prefault({}),
  stop: stopSchema.prefault({}),
  collection: collectionSchema.prefault({}),
});

/** The configuration of a training on stored data. */
const storedSchema = configSchema.omit({ collection: true }).extend({
  data: dataSchema,
  agent: sharedShape.agent.optional(),
  tasks: z
    .strictObject({
      test: taskSourceSchema.optional(),
      validation: taskSourceSchema.optional(),
      schema: taskSchemaSchema.optional(),
    })
    .prefault({}),
});

/** The JSON Schema of the configuration of a training on stored data. */
export function storedTrainingJsonSchema(): Readonly<Record<string, unknown>> {
  // Several policies are refused there, with the reason.
  return z.toJSONSchema(storedSchema.omit({ policies: true }), { io: 'input', unrepresentable: 'any' });
}

type GivenConfig = z.output<typeof configSchema> & { readonly data?: z.output<typeof dataSchema> | undefined };

/** Validates a configuration by the schema of its kind. */
function parseConfig(value: unknown): GivenConfig {
  const raw: Readonly<Record<string, unknown>> = typeof value === 'object' ? { ...value } : {};
  if (raw['data'] === undefined) return parseSettings(configSchema, value, { hintOf: searchHint });
  if (typeof raw['tasks'] === 'object' && raw['tasks'] !== null && 'train' in raw['tasks']) throw twoSources();
  const { agent = absentAgent, tasks, ...given } = parseSettings(storedSchema, value, { hintOf: searchHint });
  const { test = [], ...others } = tasks;
  const isEvaluated = hasTasks(test) || Object.keys(given.evaluation.guards).length > 0;
  if (isEvaluated && agent === absentAgent) throw withoutAgent();
  if (!hasTasks(test) && given.evaluation.every > 0) throw unmeasured('tasks.test', 'evaluation.every:');
  return { ...given, agent, collection: collectionSchema.parse({}), tasks: { ...others, train: [], test } };
}

function twoSources(): AgentLightningError {
  return new AgentLightningError({
    code: 'CONFIG',
    message: 'tasks.train has no effect with `data`: the rollouts of `data` are trained on',
    remedy: 'Remove one of them.',
  });
}

/** Stands for the agent of a training on stored data without one. */
function absentAgent(): never {
  throw withoutAgent();
}

function withoutAgent(): AgentLightningError {
  return new AgentLightningError({
    code: 'CONFIG',
    message: 'the configuration has no agent, which test tasks and guards need',
    remedy: 'Add `agent`, or remove `tasks.test` and `evaluation.guards` to train without evaluations.',
  });
}

/** The JSON Schema of the configuration of a training. It accepts any value for functions and task schemas. */
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
  const given = problems.check(() => parseConfig(value));
  const raw: Readonly<Record<string, unknown>> = typeof value === 'object' ? { ...value } : {};
  const howToLearn = checkedAlgorithm(raw['algorithm'], problems);
  const { modelNames = [] } = given?.agents ?? {};
  const resolvedPolicies = checkedPolicies(raw['policies'], { algorithm: howToLearn, modelNames }, problems);
  checkTokenSecret(raw['gateway'], problems);
  if (given !== undefined) problems.check(() => checkBudget(given));
  if (given !== undefined) problems.check(() => assertMeasured(given));
  if (given === undefined || !problems.isEmpty) throw problems.error();
  const { tasks, runtime = { type: 'embedded' }, evaluation, checkpoints, reward: rewards } = given;
  const { steps, tasksPerStep, sampling, stop, collection } = given;
  const policies = resolvedPolicies.map((policy) => ({
    ...policy,
    algorithm: withCorrection(withReward(policy.algorithm, rewards), given.data !== undefined),
  }));
  if (given.data !== undefined && policies.length > 1) throw severalPolicies();
  if (runtime.type === 'openai-fine-tuning') assertVendorTrains(howToLearn, given);
  return {
    ...sharedSettings(given, { folder, taskSchema: tasks.schema }),
    data: given.data === undefined ? null : resolveData(given.data, folder),
    hasAgent: given.agent !== absentAgent,
    tasks: {
      train: absoluteSource(tasks.train, folder),
      test: absoluteSource(tasks.test, folder),
      validation: tasks.validation === undefined ? null : absoluteSource(tasks.validation, folder),
    },
    algorithm: howToLearn,
    policies,
    runtime: runtime as ResolvedRuntime,
    steps,
    tasksPerStep,
    sampling,
    reward: rewardDefinition(policies, rewards),
    evaluation: {
      ...evaluation,
      sampling: evaluation.sampling ?? sampling,
      guards: absoluteGuards(evaluation.guards, folder),
    },
    checkpoints: { ...checkpoints, every: checkpoints.every ?? (runtime.type === 'embedded' ? 1 : 10) },
    stop,
    collection,
    stages: [],
    stage: null,
  };
}

function absoluteGuards(guards: ResolvedEvaluation['guards'], folder: string): ResolvedEvaluation['guards'] {
  return Object.fromEntries(Object.entries(guards).map(([name, source]) => [name, absoluteSource(source, folder)]));
}

/** The algorithm, which learns from the configured reward unless its options choose another one. */
function withReward(algorithm: AlgorithmOptions | null, rewards: RewardsSettings): AlgorithmOptions | null {
  if (algorithm === null || algorithm.type === 'custom') return algorithm;
  const isChosen = algorithm.rewardName !== undefined || algorithm.rewardWeights !== undefined;
  return {
    ...algorithm,
    ...(isChosen ? {} : choiceOfParts(rewards)),
    ...(rewards.missing === null ? {} : { missingReward: rewards.missing }),
  };
}

/** A policy gradient on stored tokens weighs them by their importance, truncated unless the options say otherwise. */
function withCorrection(algorithm: AlgorithmOptions | null, isStored: boolean): AlgorithmOptions | null {
  if (algorithm === null || !isStored || !needsSamplingLogprobs(algorithm)) return algorithm;
  return { samplerCorrection: { type: 'truncate' }, ...algorithm } as AlgorithmOptions;
}

/** A vendor trains on files, and evaluates nothing. */
function assertVendorTrains({ type }: AlgorithmOptions, { data, tasks, evaluation }: GivenConfig): void {
  const problem =
    data === undefined
      ? 'has no rollouts of an agent: set `data`'
      : type !== 'sft' && type !== 'dpo'
        ? `has no algorithm ${type}: use sft or dpo`
        : hasTasks(tasks.test) || Object.keys(evaluation.guards).length > 0
          ? 'does not evaluate: remove `tasks.test` and `evaluation.guards`, and compare the resulting model with `agl eval`'
          : null;
  if (problem === null) return;
  throw new AgentLightningError({ code: 'CONFIG', message: `runtime: the fine-tuning API of a vendor ${problem}` });
}

function severalPolicies(): AgentLightningError {
  return new AgentLightningError({
    code: 'CONFIG',
    message: 'policies: a training on stored data has one policy',
    remedy: 'Remove `policies`, and train each in a run with its own `data`.',
  });
}

/** Asserts that options that need evaluations during training have them. */
function assertMeasured({
  stop,
  tasks,
  evaluation,
}: {
  readonly stop: StopSettings;
  readonly tasks: { readonly validation?: TaskSource | undefined };
  readonly evaluation: { readonly every: number };
}): void {
  if (evaluation.every > 0) return;
  const { patience } = stop;
  if (patience !== null) throw unmeasured('stop.patience', `stop.patience: ${patience}`);
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
  if (!['prompts', 'optimizer', 'promptsFile'].includes(key)) return null;
  return "it is of a search for better prompts: algorithm 'apo' or 'gepa'";
}
