import path from 'node:path';
import { AgentLightningError, type JsonObject } from '@agentlightning/core';
import type { PromptSearch, PromptSet } from '@agentlightning/core/algorithm';
import { parseSettings, type Secret, secretFormSchema, secretText } from '@agentlightning/core/settings';
import { z } from 'zod';
import type { ConfigProblems } from './config-problems.ts';
import { secretSchema } from './environment.ts';
import { type PromptSearchKinds, resolvePromptKinds, resolvePrompts } from './resolve-prompts.ts';
import { type RewardDefinition, rewardDefinition } from './reward-definition.ts';
import { type ResolvedEvaluation, searchEvaluationSchema } from './sections/evaluation-config.ts';
import type { PromptConfig } from './sections/prompt-search-config.ts';
import { type ResolvedRuntime, runtimeSchema } from './sections/runtime-config.ts';
import { type SamplingConfig, samplingSchema } from './sections/sampling-config.ts';
import {
  checkBudget,
  checkTokenSecret,
  type SharedSettings,
  sharedSettings,
  sharedShape,
  taskSchemaSchema,
} from './shared-settings.ts';
import { absoluteSource, type TaskSource, taskSourceSchema } from './task-source.ts';

/** A model endpoint that is not trained, with its key. */
export interface ResolvedEndpoint {
  readonly type: 'endpoint';
  readonly baseUrl: string;
  readonly model: string;
  readonly apiKey: string | null;
  /** The key for people, without it: its variable, and the option that names it. See {@link keySourceText}. */
  readonly keySource: string;
  /** Whether a script of `agl dev` responds, whose errors reach the agent as those of a provider. @default false */
  readonly isScripted?: boolean;
  /** Maximum number of concurrent calls; null for no limit. */
  readonly maxConcurrent: number | null;
}

/** Names a key for people: `the key in the environment variable OPENAI_API_KEY (option …)`. */
export function keySourceText(secret: Secret | undefined, option: string): string {
  if (secret === undefined) return `requests without a key (${option} is not set)`;
  return `the key in ${secretText(secret)} (${option})`;
}

/** The optimiser model with all defaults. */
export interface ResolvedOptimizer extends Omit<ResolvedEndpoint, 'type' | 'maxConcurrent' | 'isScripted'> {
  readonly maxConcurrent: number;
  readonly timeoutMs: number;
  readonly parameters: JsonObject;
}

/** The configuration of a prompt search, with all defaults and absolute paths. */
export interface ResolvedPromptSearch extends PromptSearchKinds {
  readonly kind: 'prompt-search';
  /** Settings shared with trainings. */
  readonly shared: SharedSettings;
  readonly search: PromptSearch;
  /** The configured algorithm, as stored with the run. */
  readonly algorithm: JsonObject;
  readonly tasks: {
    readonly train: TaskSource;
    readonly validation: TaskSource;
    /** Null without held-out tasks. */
    readonly test: TaskSource | null;
  };
  readonly prompts: PromptSet;
  /** Null when all prompts are examples and it is not configured. */
  readonly optimizer: ResolvedOptimizer | null;
  readonly runtime: ResolvedEndpoint | ResolvedRuntime;
  readonly sampling: SamplingConfig;
  readonly evaluation: ResolvedEvaluation;
  /** The score of a rollout. */
  readonly reward: RewardDefinition;
  /** Null for the default, which contains the run's id. */
  readonly promptsFile: string | null;
}

const count = z.int().min(1);

const promptSchema = z.object({
  template: z.string(),
  variables: z.array(z.string()).optional(),
  name: z.string().optional(),
  // Checked by `resolvePromptKinds`: the message of a union would hide what is wrong.
  kind: z.unknown().optional(),
  count: z.unknown().optional(),
  example: z.unknown().optional(),
}) as z.ZodType<PromptConfig>;

const optimizerSchema = z.strictObject({
  baseUrl: z.url(),
  model: z.string().min(1),
  apiKey: secretSchema.optional(),
  maxConcurrent: count.default(8),
  timeoutMs: count.default(180_000),
  parameters: z.record(z.string(), z.json()).default({}),
});

const endpointSchema = z.strictObject({
  type: z.literal('endpoint'),
  baseUrl: z.url(),
  model: z.string().min(1),
  apiKey: secretSchema.optional(),
  maxConcurrent: count.optional(),
});

const promptsSchema = z.union([z.array(promptSchema), z.record(z.string(), promptSchema)], {
  error: 'must be a list of what `definePrompt` makes, or { <name>: { template, variables } }',
});

const searchSchema = z.strictObject({
  ...sharedShape,
  algorithm: z.unknown(),
  tasks: z.strictObject({
    train: taskSourceSchema,
    validation: taskSourceSchema,
    test: taskSourceSchema.optional(),
    schema: taskSchemaSchema.optional(),
  }),
  prompts: promptsSchema,
  optimizer: optimizerSchema.optional(),
  runtime: z.discriminatedUnion('type', [endpointSchema, runtimeSchema]).optional(),
  sampling: samplingSchema.default({}),
  evaluation: searchEvaluationSchema.prefault({}),
  promptsFile: z.string().min(1).optional(),
});

/** The JSON Schema of the configuration of a prompt search. It accepts any value for functions and task schemas. */
export function promptSearchJsonSchema(): Readonly<Record<string, unknown>> {
  return z.toJSONSchema(searchSchema, { io: 'input', unrepresentable: 'any' });
}

/** Inputs of {@link resolvePromptSearch}. */
export interface PromptSearchContext {
  /** The configured search; undefined when it is invalid, as reported in `problems`. */
  readonly search: PromptSearch | undefined;
  /** Base folder of relative paths. */
  readonly folder: string;
  /** Problems found by earlier checks. */
  readonly problems: ConfigProblems;
}

/**
 * Validates the configuration of a prompt search and adds its defaults.
 *
 * @param value - the export of the configuration file
 * @throws AgentLightningError CONFIG that reports every problem, and the most likely name for each unknown option
 */
export function resolvePromptSearch(
  value: Readonly<Record<string, unknown>>,
  context: PromptSearchContext,
): ResolvedPromptSearch {
  const { search, folder, problems } = context;
  // An undefined option is equivalent to an absent one.
  const raw = Object.fromEntries(Object.entries(value).filter(([, given]) => given !== undefined));
  const given = problems.check(() => parseSettings(searchSchema, raw, { hintOf: trainingHint }));
  const prompts = checkedPrompts(raw['prompts'], problems);
  problems.check(() => assertOptimizer(raw['optimizer'], prompts));
  checkTokenSecret(raw['gateway'], problems);
  if (given !== undefined) problems.check(() => checkBudget(given));
  if (given === undefined || search === undefined || !problems.isEmpty) throw problems.error();
  const { tasks, optimizer, runtime, sampling, evaluation, promptsFile } = given;
  return {
    kind: 'prompt-search',
    shared: sharedSettings(given, { folder, taskSchema: tasks.schema }),
    search,
    algorithm: algorithmRecord(value['algorithm'], search),
    tasks: {
      train: absoluteSource(tasks.train, folder),
      validation: absoluteSource(tasks.validation, folder),
      test: tasks.test === undefined ? null : absoluteSource(tasks.test, folder),
    },
    ...prompts,
    optimizer:
      optimizer === undefined
        ? null
        : {
            ...optimizer,
            apiKey: optimizer.apiKey ?? null,
            keySource: keySourceOf(raw['optimizer'], '`optimizer.apiKey`'),
          },
    runtime: runtimeOf(runtime, keySourceOf(raw['runtime'], '`runtime.apiKey`')),
    sampling,
    evaluation: { ...evaluation, sampling: evaluation.sampling ?? sampling },
    reward: rewardDefinition([], given.reward),
    promptsFile: promptsFile === undefined ? null : path.resolve(folder, promptsFile),
  };
}

/** The prompts with their kinds, checked also where another key is wrong; none where one of them is. */
function checkedPrompts(given: unknown, problems: ConfigProblems): PromptSearchKinds & { readonly prompts: PromptSet } {
  const { data } = promptsSchema.safeParse(given);
  const kinds = data && problems.check(() => resolvePromptKinds(data));
  const prompts = data && problems.check(() => resolvePrompts(data));
  // With unknown kinds, it is unknown which prompts need the optimiser model.
  if (kinds === undefined || prompts === undefined) return { prompts: {}, searched: {}, exampleOf: {} };
  return { prompts, ...kinds };
}

function assertOptimizer(
  given: unknown,
  { prompts, searched }: PromptSearchKinds & { readonly prompts: PromptSet },
): void {
  const rewritten = Object.keys(prompts).filter((name) => searched[name]?.kind !== 'examples');
  if (given !== undefined || rewritten.length === 0) return;
  throw new AgentLightningError({
    code: 'CONFIG',
    message: `optimizer: is missing; it rewrites ${rewritten.join(', ')}`,
    remedy: 'Set `optimizer: { baseUrl, model }`. Only a search of prompts that are all examples does not need it.',
  });
}

/** Names the key of a model for people, before it is read. */
function keySourceOf(given: unknown, option: string): string {
  const key = typeof given === 'object' && given !== null && 'apiKey' in given ? given.apiKey : undefined;
  return keySourceText(secretFormSchema.safeParse(key).data, option);
}

/** For a custom search, only the name is stored. */
function algorithmRecord(algorithm: unknown, search: PromptSearch): JsonObject {
  if (typeof algorithm !== 'object' || algorithm === search) return { type: search.name };
  return JSON.parse(JSON.stringify(algorithm)) as JsonObject;
}

function runtimeOf(
  runtime: z.output<typeof searchSchema>['runtime'],
  keySource: string,
): ResolvedEndpoint | ResolvedRuntime {
  if (runtime === undefined) return { type: 'embedded' };
  if (runtime.type !== 'endpoint') return runtime as ResolvedRuntime;
  const { type, baseUrl, model, maxConcurrent = null, apiKey = null } = runtime;
  return { type, baseUrl, model, maxConcurrent, apiKey, keySource };
}

/** Hint for keys of trainings. */
function trainingHint(key: string): string | null {
  if (key === 'steps')
    return 'a search is bounded by its budget: `algorithm: { type, maxRollouts, maxOptimizerCalls }`';
  const ofTraining = ['tasksPerStep', 'checkpoints', 'collection', 'stop'];
  return ofTraining.includes(key) ? 'it applies to training, and a prompt search does not train a model' : null;
}
