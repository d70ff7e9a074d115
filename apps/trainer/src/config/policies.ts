import type { AlgorithmOptions } from '@agentlightning/algorithms';
import { parseAlgorithmOptions } from '@agentlightning/algorithms/internal';
import { AgentLightningError } from '@agentlightning/core';
import { z } from 'zod';
import { ConfigProblems } from './config-problems.ts';

/** One of several models that serve the same rollouts. */
export interface PolicyConfig {
  /**
   * Agents whose calls it serves and is trained on: by name, or by the path from the outermost agent (`boss>expert`). Calls
   * of other agents are routed to the first policy. A call whose `model` is the name of a policy is always routed to it.
   *
   * @default none
   */
  readonly agents?: readonly string[];
  /** Further names by which agents request it, as `modelNames` of a run without `policies`. @default none */
  readonly modelNames?: readonly string[];
  /** Its training algorithm. @default the configuration's `algorithm` */
  readonly algorithm?: AlgorithmOptions;
  /** One of the runtime's base models. @default that of `runtime` */
  readonly model?: string;
  /** False for a model that only serves, with its initial weights. @default true */
  readonly train?: boolean;
}

/** A policy of a run, with all defaults. */
export interface ResolvedPolicy {
  /** Null for the only policy of a run that does not name any. */
  readonly name: string | null;
  /** Names and paths of the agents that it serves. */
  readonly agents: readonly string[];
  /** Further names by which agents request it. When a policy has any, calls of unknown names are rejected. */
  readonly modelNames: readonly string[];
  /** The algorithm; null for a policy that is not trained. */
  readonly algorithm: AlgorithmOptions | null;
  /** Null for the model of the runtime configuration. */
  readonly baseModel: string | null;
}

/** Schema of a policy in a configuration. */
export const policySchema: z.ZodObject<{
  agents: z.ZodOptional<z.ZodArray<z.ZodString>>;
  modelNames: z.ZodOptional<z.ZodArray<z.ZodString>>;
  model: z.ZodOptional<z.ZodString>;
  algorithm: z.ZodOptional<z.ZodType<AlgorithmOptions>>;
  train: z.ZodOptional<z.ZodBoolean>;
}> = z.strictObject({
  agents: z.array(z.string().min(1)).min(1).optional(),
  modelNames: z.array(z.string().min(1)).min(1).optional(),
  model: z.string().min(1).optional(),
  algorithm: z.custom<AlgorithmOptions>((value) => typeof value === 'object' && value !== null).optional(),
  train: z.boolean().optional(),
});

/** Name in stored states of the policy of a run without `policies`. */
export const onlyPolicy = 'policy';

/**
 * Adds the defaults of policies from the rest of the configuration.
 *
 * @param policies - by name, in order; undefined for a run with one model
 * @param defaults - the algorithm of policies without one; the names of the only policy of a run without `policies`
 * @throws AgentLightningError CONFIG with every contradiction between them
 */
export function resolvePolicies(
  policies: Readonly<Record<string, PolicyConfig>> | undefined,
  { algorithm, modelNames = [] }: { readonly algorithm: AlgorithmOptions; readonly modelNames?: readonly string[] },
): readonly ResolvedPolicy[] {
  if (policies === undefined) return [{ name: null, agents: [], modelNames, algorithm, baseModel: null }];
  const named = Object.entries(policies);
  const problems = new ConfigProblems();
  if (modelNames.length > 0) {
    problems.check(() => {
      throw policyError(
        'agents.modelNames: a run with `policies` has names for each',
        'Move it to `policies.<name>.modelNames`.',
      );
    });
  }
  checkNames(
    named.map(([name]) => name),
    problems,
  );
  problems.check(() => assertNoAgentTwice(named));
  problems.check(() => assertAnyTrained(named));
  const resolved = named.map(([name, { agents = [], modelNames: names = [], model = null, train = true, ...own }]) => ({
    name,
    agents,
    modelNames: names,
    algorithm: train ? (problems.check(() => algorithmOf(name, own.algorithm ?? algorithm)) ?? algorithm) : null,
    baseModel: model,
  }));
  problems.throwIfAny();
  return resolved;
}

/** Validates the algorithm of a policy; errors name the policy. */
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

/** The name of a policy in states, metrics and resources. */
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
