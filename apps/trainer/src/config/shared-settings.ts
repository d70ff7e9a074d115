import path from 'node:path';
import { AgentLightningError } from '@agentlightning/core';
import type { TaskSchema } from '@agentlightning/core/internal';
import type { AttemptTokens, Prices } from '@agentlightning/core/protocol';
import type { Agent } from '@agentlightning/runner';
import { z } from 'zod';
import { attemptTokensOf } from './attempt-tokens.ts';
import type { ConfigProblems } from './config-problems.ts';
import { secretSchema } from './environment.ts';
import { type AgentsSettings, agentsSchema } from './sections/agents-config.ts';
import { type GatewaySettings, gatewaySchema } from './sections/gateway-config.ts';
import { type LimitsSettings, limitsSchema } from './sections/limits-config.ts';
import { type RewardsSettings, rewardSchema } from './sections/reward-config.ts';
import { type RunGroupSettings, runSchema } from './sections/run-config.ts';

/** Settings that trainings and prompt searches share, with the defaults of their schemas. */
interface PlainSettings {
  readonly agent: Agent<unknown, unknown>;
  readonly agents: AgentsSettings;
  readonly limits: LimitsSettings;
  readonly rewards: RewardsSettings;
}

/** Settings that trainings and prompt searches share, with defaults and absolute paths. */
export interface SharedSettings extends PlainSettings {
  readonly name: string;
  readonly tags: readonly string[];
  readonly seed: number;
  /** Null without prices. */
  readonly prices: Prices | null;
  /** Module with the agent, for worker processes; null for an agent that exists only in this process. */
  readonly agentFile: string | null;
  readonly taskSchema: TaskSchema | null;
  readonly storeUrl: string;
  readonly storeApiKey: string | null;
  readonly gateway: Omit<GatewaySettings, 'tokenSecret'>;
  readonly attemptTokens: AttemptTokens | null;
  readonly dataDir: string;
}

/** The validated settings; those that depend on the configuration's folder have no default yet. */
export interface GivenSharedSettings extends Omit<PlainSettings, 'rewards'> {
  readonly reward: RewardsSettings;
  readonly run: RunGroupSettings;
  readonly store?: { readonly url?: string | undefined; readonly apiKey?: string | undefined } | undefined;
  readonly gateway: GatewaySettings;
}

/** Fields of the shared settings, for the schema of a configuration. */
export const sharedShape: { readonly [TName in keyof GivenSharedSettings]-?: z.ZodType<GivenSharedSettings[TName]> } = {
  run: runSchema.prefault({}),
  agent: z.custom<Agent<unknown, unknown>>(
    (value) => typeof value === 'function',
    'must be a function (task, context) => reward',
  ),
  agents: agentsSchema.prefault({}),
  limits: limitsSchema.prefault({}),
  reward: rewardSchema.prefault({}),
  store: z.strictObject({ url: z.string().optional(), apiKey: secretSchema.optional() }).optional(),
  gateway: gatewaySchema.prefault({}),
};

/** A schema of tasks, of any library with Standard Schema. */
export const taskSchemaSchema: z.ZodType<TaskSchema> = z.custom<TaskSchema>(
  (value) => (typeof value === 'object' || typeof value === 'function') && value !== null && '~standard' in value,
  'must be a schema of zod, Valibot, ArkType or another library with Standard Schema',
);

/**
 * Adds defaults that depend on the folder of the configuration.
 *
 * @param given - settings validated by a schema with {@link sharedShape}
 * @param folder - base folder of relative paths
 */
export function sharedSettings(
  given: GivenSharedSettings,
  { folder, taskSchema }: { readonly folder: string; readonly taskSchema: TaskSchema | undefined },
): SharedSettings {
  const { agent, agents, limits, reward: rewards, store } = given;
  const { name = path.basename(folder), tags, seed, prices } = given.run;
  const { tokenSecret, ...gateway } = given.gateway;
  const dataDir = path.resolve(folder, given.run.dataDir);
  return {
    name,
    tags,
    agent,
    agentFile: null,
    agents,
    limits,
    rewards,
    taskSchema: taskSchema ?? null,
    storeUrl: store?.url === undefined ? `sqlite:${path.join(dataDir, 'agl.db')}` : storeAddress(store.url, folder),
    storeApiKey: store?.apiKey ?? null,
    gateway,
    attemptTokens: attemptTokensOf(tokenSecret ?? ''),
    prices,
    dataDir,
    seed,
  };
}

/** Validates the secret even when another key is wrong. */
export function checkTokenSecret(gateway: unknown, problems: ConfigProblems): void {
  const secret = typeof gateway === 'object' && gateway !== null && 'tokenSecret' in gateway ? gateway.tokenSecret : '';
  if (typeof secret === 'string') problems.check(() => attemptTokensOf(secret));
}

/** @throws AgentLightningError CONFIG for a budget in money without prices, which could never be reached */
export function checkBudget({ limits, run }: Pick<GivenSharedSettings, 'limits' | 'run'>): void {
  const money = limits.budget?.money ?? null;
  if (money === null || run.prices !== null) return;
  throw new AgentLightningError({
    code: 'CONFIG',
    message: `\`limits.budget.money\` is ${money}, and \`run.prices\` has no prices`,
    remedy: 'Set `run.prices` to what models and the runtime cost, or limit `tokens` or `hours`.',
  });
}

function storeAddress(url: string, folder: string): string {
  const file = /^sqlite:(?!:memory:)(.+)$/.exec(url)?.[1];
  return file === undefined ? url : `sqlite:${path.resolve(folder, file)}`;
}
