import { AgentLightningError, type JsonObject, type Run, type Store } from '@agentlightning/core';
import { systemClock } from '@agentlightning/core/internal';
import { readRunProgress } from '@agentlightning/core/protocol';
import { z } from 'zod';
import { acquireRunLease } from '../run/run-lease.ts';

/** A version of a model or of prompts, with its origin. */
export interface ModelVersion {
  /** Such as `run-1a2b@30`. */
  readonly version: string;
  /** Weights of a checkpoint, a model at a vendor, or prompts. */
  readonly kind: 'weights' | 'vendor' | 'prompts';
  /** The run that made it. */
  readonly run: string;
  /** The step of its checkpoint; null for a vendor's model and prompts. */
  readonly step: number | null;
  /** The base model; null when the runtime chose it. */
  readonly baseModel: string | null;
  /** The training data: the text that identifies it in the run. */
  readonly data: string | null;
  /** SHA-256 of the configuration of the run. */
  readonly configSha256: string;
  /** The checkpoints by policy, or the name of a vendor's model; null for prompts. */
  readonly location: Readonly<Record<string, string>> | string | null;
  /** Digest of the published weights or of the prompts; null when the runtime reports none. */
  readonly digest: string | null;
  /** The prompts by name, of a search; null for a model. */
  readonly prompts: JsonObject | null;
  /** The held-out reward after the run; null without an evaluation. */
  readonly reward: number | null;
}

/** A change of a deployment. */
export interface DeploymentChange {
  readonly timeMs: number;
  readonly action: 'promote' | 'rollback';
  /** The version that is live since then. */
  readonly version: string;
  /** Null for the first version. */
  readonly previous: string | null;
  /** Who did it. */
  readonly by: string;
  /** Empty without a reason. */
  readonly reason: string;
}

/** What a deployment serves, in the state of its run. */
export interface DeploymentState {
  /** The live version; null before the first promotion. */
  readonly live: string | null;
  /** All versions that were live, in order of their first promotion. */
  readonly versions: readonly ModelVersion[];
  /** Oldest first. */
  readonly history: readonly DeploymentChange[];
}

const modelVersion: z.ZodType<ModelVersion> = z.object({
  version: z.string(),
  kind: z.enum(['weights', 'vendor', 'prompts']),
  run: z.string(),
  step: z.int().nullable(),
  baseModel: z.string().nullable(),
  data: z.string().nullable(),
  configSha256: z.string(),
  location: z.union([z.record(z.string(), z.string()), z.string(), z.null()]),
  digest: z.string().nullable(),
  prompts: z.record(z.string(), z.json()).nullable(),
  reward: z.number().nullable(),
});

const change: z.ZodType<DeploymentChange> = z.object({
  timeMs: z.number(),
  action: z.enum(['promote', 'rollback']),
  version: z.string(),
  previous: z.string().nullable(),
  by: z.string(),
  reason: z.string(),
});

// A deployment that only collects traces has none of these.
const deploymentState: z.ZodType<DeploymentState> = z.object({
  live: z.string().nullable().default(null),
  versions: z.array(modelVersion).default([]),
  history: z.array(change).default([]),
});

/** Reads what a deployment serves; null for a run of another kind. */
export function readDeployment(run: Run): DeploymentState | null {
  return readRunProgress(run).kind === 'deployment' ? deploymentState.parse(run.state) : null;
}

/** Who changes a deployment, and why. */
export interface ChangeAuthor {
  readonly by: string;
  readonly reason: string;
}

/**
 * Makes a version live, and creates the deployment if it does not exist.
 *
 * @throws AgentLightningError CONFLICT when a run of another kind has this name, or when another change was faster
 */
export async function promote(
  store: Store,
  name: string,
  { version, ...author }: ChangeAuthor & { readonly version: ModelVersion },
): Promise<DeploymentState> {
  return await update(store, name, author, (state) => ({
    action: 'promote',
    live: version,
    versions: [...state.versions.filter((each) => each.version !== version.version), version],
  }));
}

/**
 * Makes the previous live version live again.
 *
 * @throws AgentLightningError NOT_FOUND without a previous version, CONFLICT as {@link promote}
 */
export async function rollback(store: Store, name: string, author: ChangeAuthor): Promise<DeploymentState> {
  return await update(store, name, author, ({ live, versions, history }) => {
    const earlier = history.findLast(({ version, action }) => version === live && action === 'promote')?.previous;
    const previous = versions.find(({ version }) => version === earlier);
    if (previous !== undefined) return { action: 'rollback', live: previous, versions };
    throw new AgentLightningError({
      code: 'NOT_FOUND',
      message: `the deployment ${name} has no version before ${live ?? 'its first one'}`,
      remedy: `Promote one: \`agl deploy <run>@<checkpoint> --to ${name}\`.`,
    });
  });
}

/** The live version after a change. */
interface Changed {
  readonly action: DeploymentChange['action'];
  readonly live: ModelVersion;
  readonly versions: readonly ModelVersion[];
}

async function update(
  store: Store,
  name: string,
  { by, reason }: ChangeAuthor,
  change: (state: DeploymentState) => Changed,
): Promise<DeploymentState> {
  const before = await findOrCreateDeployment(store, name);
  const lease = await acquireRunLease(store, name);
  try {
    const run = await store.getRun(name);
    const state = deploymentOf(run);
    if (state.history.length !== before.history.length) throw fasterChange(name, state);
    const { action, live, versions } = change(state);
    const entry = { timeMs: systemClock.now(), action, version: live.version, previous: state.live, by, reason };
    const next = { live: live.version, versions, history: [...state.history, entry] };
    const prompts = live.prompts === null ? {} : { prompts: { best: live.version, prompts: live.prompts } };
    // Another process that took the lease in the meantime is found here.
    await lease.renew();
    const record: JsonObject = JSON.parse(JSON.stringify({ ...run.state, kind: 'deployment', ...next, ...prompts }));
    await store.updateRun(name, { state: record });
    return next;
  } finally {
    await lease.release();
  }
}

async function findOrCreateDeployment(store: Store, name: string): Promise<DeploymentState> {
  try {
    return deploymentOf(await store.getRun(name));
  } catch (error) {
    if (!AgentLightningError.isInstance(error) || error.code !== 'NOT_FOUND') throw error;
  }
  try {
    await store.createRun({ runId: name, name, config: {} });
    return deploymentOf(await store.updateRun(name, { state: { kind: 'deployment' } }));
  } catch (error) {
    // The first trace, or another promotion, has created it.
    if (!AgentLightningError.isInstance(error) || error.code !== 'CONFLICT') throw error;
    return deploymentOf(await store.getRun(name));
  }
}

function deploymentOf(run: Run): DeploymentState {
  const deployment = readDeployment(run);
  if (deployment !== null) return deployment;
  throw new AgentLightningError({
    code: 'CONFLICT',
    message: `${run.runId} is a run of the kind ${readRunProgress(run).kind}, not a deployment`,
    remedy: 'Choose another name for the deployment.',
  });
}

function fasterChange(name: string, { live, history }: DeploymentState): AgentLightningError {
  const by = history.at(-1)?.by ?? 'another process';
  return new AgentLightningError({
    code: 'CONFLICT',
    message: `the deployment ${name} was changed at the same time: ${by} made ${live ?? 'another version'} live`,
    remedy: 'Read `agl deployments`, and repeat the command if it is still right.',
  });
}
