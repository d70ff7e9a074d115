import { type AlgorithmOptions, parseAlgorithmOptions } from '@agentlightning/algorithms';
import { AgentLightningError } from '@agentlightning/core';
import { z } from 'zod';
import { ConfigProblems } from './config-problems.ts';
import type { PolicyConfig } from './train-config.ts';

/** One of the models of a run, with every default filled in. */
export interface ResolvedPolicy {
  /** Null for the only policy of a run that does not name any. */
  readonly name: string | null;
  /** Agents whose calls it serves: names and paths of agents. */
  readonly agents: readonly string[];
  /** The algorithm; null for a policy that is not trained. */
  readonly algorithm: AlgorithmOptions | null;
  /** Null takes that of the runtime's configuration. */
  readonly baseModel: string | null;
}

/** What is checked of each of the configuration's policies. */
export const policySchema: z.ZodObject<{
  agents: z.ZodOptional<z.ZodArray<z.ZodString>>;
  model: z.ZodOptional<z.ZodString>;
  algorithm: z.ZodOptional<z.ZodType<AlgorithmOptions>>;
  train: z.ZodOptional<z.ZodBoolean>;
}> = z.strictObject({
  agents: z.array(z.string().min(1)).min(1).optional(),
  model: z.string().min(1).optional(),
  algorithm: z.custom<AlgorithmOptions>((value) => typeof value === 'object' && value !== null).optional(),
  train: z.boolean().optional(),
});

/** What a policy of a run that names none is called in stored states. */
export const onlyPolicy = 'policy';

/**
 * Fills in what policies take from the rest of the configuration.
 *
 * @param policies - by name, in order; undefined for a run with one model
 * @param algorithm - the default algorithm
 * @throws AgentLightningError CONFIG with every contradiction between them
 */
export function resolvePolicies(
  policies: Readonly<Record<string, PolicyConfig>> | undefined,
  algorithm: AlgorithmOptions,
): readonly ResolvedPolicy[] {
  if (policies === undefined) return [{ name: null, agents: [], algorithm, baseModel: null }];
  const named = Object.entries(policies);
  const problems = new ConfigProblems();
  checkNames(
    named.map(([name]) => name),
    problems,
  );
  problems.check(() => assertNoAgentTwice(named));
  problems.check(() => assertAnyTrained(named));
  const resolved = named.map(([name, { agents = [], model = null, train = true, ...own }]) => ({
    name,
    agents,
    algorithm: train ? (problems.check(() => algorithmOf(name, own.algorithm ?? algorithm)) ?? algorithm) : null,
    baseModel: model,
  }));
  problems.throwIfAny();
  return resolved;
}

/** Checks how a policy learns; what is wrong with it is said of the policy. */
function algorithmOf(policy: string, options: AlgorithmOptions): AlgorithmOptions {
  try {
    return parseAlgorithmOptions(options);
  } catch (error) {
    if (!AgentLightningError.isInstance(error)) throw error;
    const { code, remedy, details } = error;
    const message = `policies.${policy}: ${error.message.replace(/^\[\w+\] /, '')}`;
    throw new AgentLightningError({ code, message, remedy, details, cause: error });
  }
}

/** The name that a policy goes by in states, metrics and resources. */
export function policyKey({ name }: Pick<ResolvedPolicy, 'name'>): string {
  return name ?? onlyPolicy;
}

function checkNames(names: readonly string[], problems: ConfigProblems): void {
  for (const name of names) problems.check(() => assertName(name));
}

function assertName(name: string): void {
  if (/^[A-Za-z0-9_-]{1,64}$/.test(name) && !name.endsWith('reference')) return;
  throw policyError(
    `policies: "${name}" cannot be the name of a policy`,
    'Use 1 to 64 letters, digits, hyphens and underscores that do not end with "reference".',
  );
}

/** The name and configuration of a policy. */
type NamedPolicy = readonly [string, PolicyConfig];

function assertAnyTrained(named: readonly NamedPolicy[]): void {
  if (named.length === 0) throw policyError('policies: is empty', 'Add a policy, or remove `policies`.');
  if (named.some(([, { train = true }]) => train)) return;
  throw policyError('policies: none of them is trained', 'Remove `train: false` from at least one.');
}

function assertNoAgentTwice(named: readonly NamedPolicy[]): void {
  const owners = new Map<string, string>();
  for (const [name, { agents = [] }] of named) {
    for (const agent of agents) {
      const other = owners.get(agent);
      if (other !== undefined && other !== name) {
        throw policyError(
          `policies: the agent "${agent}" is in ${other} and in ${name}`,
          'Give each agent to one policy; a path such as "boss>expert" distinguishes agents of the same name.',
        );
      }
      owners.set(agent, name);
    }
  }
}

function policyError(message: string, remedy: string): AgentLightningError {
  return new AgentLightningError({ code: 'CONFIG', message, remedy });
}
