import path from 'node:path';
import type { AttemptTokens } from '@agentlightning/core/protocol';
import { type Prices, pricesSchema } from '@agentlightning/core/store';
import type { Agent } from '@agentlightning/runner';
import { z } from 'zod';
import { attemptTokensOf } from './attempt-tokens.ts';
import type { ConfigProblems } from './config-problems.ts';

/** Settings that trainings and prompt searches share, with defaults and absolute paths. */
export interface SharedSettings {
  readonly name: string;
  readonly tags: readonly string[];
  readonly agent: Agent<unknown>;
  /** Module with the agent, for worker processes; null for an agent that exists only in this process. */
  readonly agentFile: string | null;
  /** Whether agents run in this process. */
  readonly inProcess: boolean;
  /** The only environment variables of agents in worker processes, besides basic ones; null for all. */
  readonly agentVariables: readonly string[] | null;
  /** The number of worker processes; 0 for runners elsewhere only. */
  readonly workers: number;
  readonly taskSchema: z.ZodType | null;
  readonly storeUrl: string;
  readonly storeApiKey: string | null;
  readonly attemptTokens: AttemptTokens | null;
  readonly gatewayUrl: string | null;
  readonly secretFields: readonly string[];
  readonly upstreamTimeoutMs: number;
  /** Null: by the times of the model servers. */
  readonly firstByteTimeoutMs: number | null;
  readonly concurrency: number;
  readonly rolloutTimeoutMs: number;
  readonly maxAttempts: number;
  readonly outageToleranceMs: number;
  readonly runnerTimeoutMs: number;
  readonly maxRestarts: number;
  readonly maxMissingShare: number;
  /** Null without prices. */
  readonly prices: Prices | null;
  readonly dataDir: string;
  readonly seed: number;
}

const count = z.int().min(1);

/** Milliseconds, up to the maximum delay of a Node.js timer. */
const timeout = z.int().min(1).max(0x7fffffff);

const isFunction = (value: unknown): boolean => typeof value === 'function';

/** The validated settings; those that depend on the configuration's folder have no default yet. */
export interface GivenSharedSettings
  extends Pick<
    SharedSettings,
    | 'agent'
    | 'inProcess'
    | 'tags'
    | 'workers'
    | 'secretFields'
    | 'upstreamTimeoutMs'
    | 'concurrency'
    | 'rolloutTimeoutMs'
    | 'maxAttempts'
    | 'outageToleranceMs'
    | 'runnerTimeoutMs'
    | 'maxRestarts'
    | 'maxMissingShare'
    | 'prices'
    | 'dataDir'
    | 'seed'
  > {
  readonly name?: string | undefined;
  readonly agents?: { readonly env?: readonly string[] | undefined } | undefined;
  readonly taskSchema?: z.ZodType | undefined;
  readonly store?: { readonly url?: string | undefined; readonly apiKey?: string | undefined } | undefined;
  readonly tokenSecret?: string | undefined;
  readonly gatewayUrl?: string | undefined;
  readonly firstByteTimeoutMs?: number | undefined;
}

/** Fields of the shared settings, for the schema of a configuration. */
export const sharedShape: { readonly [TName in keyof GivenSharedSettings]-?: z.ZodType<GivenSharedSettings[TName]> } = {
  name: z.string().min(1).optional(),
  tags: z
    .array(
      z
        .string()
        .min(1)
        .regex(/^[^,]*$/, { error: 'must not contain commas' }),
    )
    .default([]),
  agent: z.custom<Agent<unknown>>(isFunction, 'must be a function (task, context) => reward'),
  inProcess: z.boolean().default(false),
  agents: z.strictObject({ env: z.array(z.string().min(1)).optional() }).optional(),
  workers: z.int().min(0).max(256).default(1),
  taskSchema: z.custom<z.ZodType>((value) => value instanceof z.ZodType, 'must be a zod schema').optional(),
  store: z.strictObject({ url: z.string().optional(), apiKey: z.string().optional() }).optional(),
  tokenSecret: z.string().optional(),
  gatewayUrl: z.url().optional(),
  secretFields: z.array(z.string().min(1)).default([]),
  upstreamTimeoutMs: timeout.default(600_000),
  firstByteTimeoutMs: timeout.optional(),
  concurrency: count.max(4096).default(32),
  rolloutTimeoutMs: count.default(60_000),
  maxAttempts: count.default(1),
  outageToleranceMs: z.int().min(0).default(30_000),
  runnerTimeoutMs: count.default(600_000),
  maxRestarts: z.int().min(0).default(3),
  maxMissingShare: z.number().min(0).max(1).default(0.05),
  prices: pricesSchema.nullable().default(null),
  dataDir: z.string().min(1).default('.agl'),
  seed: z.int().min(0).max(0xffffffff).default(0),
};

/**
 * Adds defaults that depend on the folder of the configuration.
 *
 * @param given - settings validated by a schema with {@link sharedShape}
 * @param folder - base folder of relative paths
 */
export function sharedSettings(given: GivenSharedSettings, folder: string): SharedSettings {
  const { name, agent, inProcess, workers, taskSchema, store, tokenSecret, gatewayUrl } = given;
  const {
    secretFields,
    upstreamTimeoutMs,
    concurrency,
    rolloutTimeoutMs,
    maxAttempts,
    outageToleranceMs,
    runnerTimeoutMs,
    maxRestarts,
    maxMissingShare,
    prices,
    seed,
    tags,
  } = given;
  const dataDir = path.resolve(folder, given.dataDir);
  return {
    name: name ?? path.basename(folder),
    tags,
    agent,
    agentFile: null,
    inProcess,
    agentVariables: given.agents?.env ?? null,
    workers,
    taskSchema: taskSchema ?? null,
    storeUrl: store?.url === undefined ? `sqlite:${path.join(dataDir, 'agl.db')}` : storeAddress(store.url, folder),
    storeApiKey: store?.apiKey ?? null,
    attemptTokens: attemptTokensOf(tokenSecret),
    gatewayUrl: gatewayUrl ?? null,
    secretFields,
    upstreamTimeoutMs,
    firstByteTimeoutMs: given.firstByteTimeoutMs ?? null,
    concurrency,
    rolloutTimeoutMs,
    maxAttempts,
    outageToleranceMs,
    runnerTimeoutMs,
    maxRestarts,
    maxMissingShare,
    prices,
    dataDir,
    seed,
  };
}

/** Validates the secret even when another key is wrong. */
export function checkTokenSecret(given: unknown, problems: ConfigProblems): void {
  if (typeof given === 'string') problems.check(() => attemptTokensOf(given));
}

function storeAddress(url: string, folder: string): string {
  const file = /^sqlite:(?!:memory:)(.+)$/.exec(url)?.[1];
  return file === undefined ? url : `sqlite:${path.resolve(folder, file)}`;
}
