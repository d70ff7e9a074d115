import { AgentLightningError } from '@agentlightning/core';
import { parseSettings } from '@agentlightning/core/settings';
import { z } from 'zod';
import type { ServerAlgorithm, ServerSettings } from './server-settings.ts';

/** The name of a setting, which is also its key in a configuration file. */
export type SettingName = keyof ServerSettings;

/** Where a setting is set, besides its key in a configuration file. */
interface SettingPlaces {
  readonly environment: `AGL_${string}`;
  readonly flag: `--${string}`;
  /** How the text of a flag or variable is read. */
  readonly type: 'text' | 'number';
}

/** A setting of `agl server`. */
export interface Setting extends SettingPlaces {
  readonly name: SettingName;
  readonly description: string;
  /** Null for a setting that is not set. */
  readonly default: string | number | null;
}

const places = z.registry<SettingPlaces>();

const algorithms = {
  grpo: 'grpo',
  'dr-grpo': 'dr-grpo',
  dapo: 'dapo',
  gspo: 'gspo',
  cispo: 'cispo',
  rloo: 'rloo',
  'reinforce++': 'reinforce++',
  ppo: 'ppo',
  sft: 'sft',
  'rejection-sampling': 'rejection-sampling',
  dpo: 'dpo',
  kto: 'kto',
  sdpo: 'sdpo',
} as const satisfies { readonly [TName in ServerAlgorithm]: TName };

const text = z.string().min(1);
const count = z.int().min(1);

/** The settings: schema, default, description, environment variable and flag of each. */
const shape = {
  host: text
    .default('127.0.0.1')
    .describe('the address to bind to')
    .register(places, { environment: 'AGL_HOST', flag: '--host <host>', type: 'text' }),
  port: z
    .int()
    .min(0)
    .max(65_535)
    .default(4747)
    .describe('the port; 0 takes any free one')
    .register(places, { environment: 'AGL_PORT', flag: '--port <n>', type: 'number' }),
  data: text
    .default('.agl/server')
    .describe('the folder of data, checkpoints and the key')
    .register(places, { environment: 'AGL_DATA', flag: '--data <folder>', type: 'text' }),
  store: text
    .nullable()
    .default(null)
    .describe('the database of the store, sqlite:<file> or postgres://…; otherwise a file in the data folder')
    .register(places, { environment: 'AGL_STORE', flag: '--store <url>', type: 'text' }),
  runtime: text
    .nullable()
    .default(null)
    .describe('host:port of a running training runtime, or https://… of a Tinker server; otherwise one is started here')
    .register(places, { environment: 'AGL_RUNTIME', flag: '--runtime <address>', type: 'text' }),
  runtimePython: text
    .nullable()
    .default(null)
    .describe(
      'start the GPU runtime that is installed for this Python interpreter; otherwise that of python3 where one is needed',
    )
    .register(places, { environment: 'AGL_RUNTIME_PYTHON', flag: '--runtime-python <file>', type: 'text' }),
  runtimeArguments: text
    .nullable()
    .default(null)
    .describe(
      'further arguments of the GPU runtime, or of the one over a Tinker server, that the server starts: "--load-in-4bit --optimizer adamw-8bit"',
    )
    .register(places, { environment: 'AGL_RUNTIME_ARGUMENTS', flag: '--runtime-arguments <text>', type: 'text' }),
  model: text
    .nullable()
    .default(null)
    .describe(
      'the base model: a name of the runtime or Tinker server, otherwise its first one; for the GPU runtime a Hugging Face id or a folder',
    )
    .register(places, { environment: 'AGL_MODEL', flag: '--model <name>', type: 'text' }),
  loraRank: count
    .nullable()
    .default(null)
    .describe(
      'train LoRA adapters of this rank, which share the base model; otherwise all weights, or rank 32 on a Tinker server',
    )
    .register(places, { environment: 'AGL_LORA_RANK', flag: '--lora-rank <n>', type: 'number' }),
  gpus: z
    .int()
    .min(0)
    .nullable()
    .default(null)
    .describe('the number of GPUs to train a model on; 0 for the CPU; otherwise all of the runtime')
    .register(places, { environment: 'AGL_NUM_GPUS', flag: '--gpus <n>', type: 'number' }),
  maxConcurrentRuns: count
    .default(1)
    .describe('runs that are trained at a time, over all projects; each needs the memory of a model in the runtime')
    .register(places, { environment: 'AGL_MAX_CONCURRENT_RUNS', flag: '--max-concurrent-runs <n>', type: 'number' }),
  drain: z
    .string()
    .regex(/^\d+(\.\d+)?[smhd]$/, 'must be a length of time such as 90s, 30m or 12h')
    .default('30s')
    .describe('how long calls and the current operation may take when the server is stopped')
    .register(places, { environment: 'AGL_DRAIN', flag: '--drain <time>', type: 'text' }),
  algorithm: z
    .enum(algorithms)
    .default('grpo')
    .describe('the algorithm of runs that name none')
    .register(places, { environment: 'AGL_ALGORITHM', flag: '--algorithm <name>', type: 'text' }),
  learningRate: z
    .number()
    .positive()
    .nullable()
    .default(null)
    .describe('the learning rate of runs that set none')
    .register(places, { environment: 'AGL_LEARNING_RATE', flag: '--learning-rate <rate>', type: 'number' }),
  steps: count
    .nullable()
    .default(null)
    .describe('the steps of runs that set none')
    .register(places, { environment: 'AGL_STEPS', flag: '--steps <n>', type: 'number' }),
  tasksPerStep: count
    .nullable()
    .default(null)
    .describe('the tasks of each step of runs that set none')
    .register(places, { environment: 'AGL_TRAIN_BATCH_SIZE', flag: '--tasks-per-step <n>', type: 'number' }),
  maxTokens: count
    .nullable()
    .default(null)
    .describe('the limit of tokens of each completion, for runs that set none')
    .register(places, { environment: 'AGL_MAX_TOKENS', flag: '--max-tokens <n>', type: 'number' }),
};

/** Validates settings under the names of a configuration file, and adds the defaults. */
export const settingsSchema: z.ZodType<ServerSettings> = z.strictObject(shape);

/** Every setting. */
export const settings: readonly Setting[] = z.keyof(z.strictObject(shape)).options.map((name) => ({
  name,
  ...placesOf(name),
  description: shape[name].description ?? '',
  default: shape[name].parse(undefined),
}));

/**
 * Validates the text of a flag or an environment variable.
 *
 * @param source - the flag or variable, for the error
 * @throws AgentLightningError CONFIG
 */
export function parseSettingText(setting: Setting, text: string, source: string): string | number | null {
  const isNumber = setting.type === 'number' && text.trim() !== '' && Number.isFinite(Number(text));
  const schema: z.ZodType<string | number | null> = shape[setting.name];
  const parsed = parseSettings(z.record(z.string(), schema), { [source]: isNumber ? Number(text) : text });
  return parsed[source] ?? null;
}

/** The JSON Schema of a configuration file. */
export function settingsJsonSchema(): Readonly<Record<string, unknown>> {
  return z.toJSONSchema(z.strictObject({ $schema: z.string().optional(), ...shape }), { io: 'input' });
}

function placesOf(name: SettingName): SettingPlaces {
  const found = places.get(shape[name]);
  if (found !== undefined) return found;
  throw new AgentLightningError({ code: 'INTERNAL', message: `setting ${name} has no flag` });
}
