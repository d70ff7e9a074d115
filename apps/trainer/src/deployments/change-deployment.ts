import { randomBytes } from 'node:crypto';
import { AgentLightningError, type JsonObject, type Run, type Store } from '@agentlightning/core';
import { systemClock } from '@agentlightning/core/internal';
import {
  type DeploymentCandidate,
  type DeploymentChange,
  type DeploymentState,
  type ModelVersion,
  previousVersion,
  readDeployment,
  readRunProgress,
} from '@agentlightning/core/protocol';
import { acquireRunLease } from '../run/run-lease.ts';
import { assertDeployedNotWorse } from './assert-not-worse.ts';

/** Who changes a deployment, and why. */
export interface ChangeAuthor {
  readonly by: string;
  readonly reason: string;
}

/**
 * Makes a version live, and creates the deployment if it does not exist.
 *
 * @throws AgentLightningError CONFLICT when a run of another kind has this name, when another version is a candidate, or when another
 *   change was faster
 */
export async function promote(
  store: Store,
  name: string,
  { version, ...author }: ChangeAuthor & { readonly version: ModelVersion },
): Promise<DeploymentState> {
  return await update(store, name, author, (state) => {
    assertNoOtherCandidate(name, state, version.version);
    return {
      action: 'promote',
      live: version.version,
      candidate: null,
      version: version.version,
      previous: state.live,
      versions: withVersion(state, version),
    };
  });
}

/**
 * Makes the candidate live.
 *
 * @param expected - the candidate that is meant; null for any
 * @param isFallAccepted - whether the candidate may be worse on held-out tasks
 * @throws AgentLightningError NOT_FOUND without a candidate, CONFLICT as {@link promote}, or for another candidate than the expected
 *   one; as {@link assertDeployedNotWorse} for a fall that was not accepted, now or at the start of the trial
 */
export async function promoteCandidate(
  store: Store,
  name: string,
  {
    expected = null,
    isFallAccepted = false,
    ...author
  }: ChangeAuthor & { readonly expected?: string | null; readonly isFallAccepted?: boolean },
): Promise<DeploymentState> {
  const { candidate: tried, versions: known } = deploymentOf(await store.getRun(name));
  const found = tried === null ? undefined : known.find((each) => each.version === tried.version);
  // The run may have been evaluated since the start of the trial.
  if (tried !== null && found !== undefined && !tried.isFallAccepted && !isFallAccepted) {
    await assertDeployedNotWorse(store, found);
  }
  return await update(store, name, author, ({ live, candidate, versions }) => {
    const { version } = expectedCandidate(name, candidate, expected);
    return { action: 'promote', live: version, candidate: null, version, previous: live, versions };
  });
}

/** The part of the traffic that a candidate gets, and what ends its trial. */
export type CanaryOptions = Pick<
  DeploymentCandidate,
  'share' | 'isPromotedWhenBetter' | 'maxCostRatio' | 'isFallAccepted'
>;

/**
 * Gives a candidate a share of the traffic, or another share. Those who have the candidate keep it when its share grows.
 *
 * @throws AgentLightningError CONFIG without a live version, or for prompts; CONFLICT as {@link promote}, or for the live version
 */
export async function startCanary(
  store: Store,
  name: string,
  { version, options, ...author }: ChangeAuthor & { readonly version: ModelVersion; readonly options: CanaryOptions },
): Promise<DeploymentState> {
  return await update(store, name, author, (state) => {
    assertNoOtherCandidate(name, state, version.version);
    assertTriable(name, state, version);
    const begun = state.candidate ?? { key: randomBytes(16).toString('hex'), sinceMs: systemClock.now() };
    const { key, sinceMs } = begun;
    return {
      action: 'canary',
      live: state.live,
      candidate: { version: version.version, key, sinceMs, ...options },
      version: version.version,
      previous: state.live,
      versions: withVersion(state, version),
    };
  });
}

/**
 * Gives all traffic to the live version, when there is a candidate; otherwise makes the previous live version live again.
 *
 * @param expected - the candidate that is meant; null for any, or none
 * @throws AgentLightningError NOT_FOUND without a previous version, CONFLICT as {@link promoteCandidate}
 */
export async function rollback(
  store: Store,
  name: string,
  { expected = null, ...author }: ChangeAuthor & { readonly expected?: string | null },
): Promise<DeploymentState> {
  return await update(store, name, author, (state) => {
    const { live, candidate, versions } = state;
    if (live !== null && (candidate !== null || expected !== null)) {
      const { version: previous } = expectedCandidate(name, candidate, expected);
      return { action: 'rollback', live, candidate: null, version: live, previous, versions };
    }
    const restored = previousVersion(state)?.version;
    if (restored !== undefined) {
      return { action: 'rollback', live: restored, candidate: null, version: restored, previous: live, versions };
    }
    throw new AgentLightningError({
      code: 'NOT_FOUND',
      message: `the deployment ${name} has no version before ${live ?? 'its first one'}`,
      remedy: `Promote one: \`agl deploy <run>@<checkpoint> --to ${name}\`.`,
    });
  });
}

function withVersion({ versions }: DeploymentState, version: ModelVersion): readonly ModelVersion[] {
  return [...versions.filter((each) => each.version !== version.version), version];
}

function assertNoOtherCandidate(name: string, { candidate }: DeploymentState, version: string): void {
  if (candidate === null || candidate.version === version) return;
  throw new AgentLightningError({
    code: 'CONFLICT',
    message: `the deployment ${name} has the candidate ${candidate.version}`,
    remedy: `End its trial first: \`agl deploy --to ${name} --promote\` or \`--rollback\`.`,
  });
}

function assertTriable(name: string, { live, versions }: DeploymentState, { version, kind }: ModelVersion): void {
  const stable = versions.find((each) => each.version === live);
  if (stable === undefined || stable.kind === 'prompts' || kind === 'prompts') {
    throw new AgentLightningError({
      code: 'CONFIG',
      message:
        stable === undefined
          ? `the deployment ${name} has no live version to compare ${version} with`
          : `a share of the traffic needs models on both sides, and ${kind === 'prompts' ? version : stable.version} is prompts`,
      remedy: `Make a version live without \`--share\`: \`agl deploy <version> --to ${name}\`.`,
    });
  }
  if (stable.version !== version) return;
  throw new AgentLightningError({
    code: 'CONFLICT',
    message: `${version} is live in ${name} already`,
    remedy: 'Choose another version as the candidate.',
  });
}

function expectedCandidate(
  name: string,
  candidate: DeploymentCandidate | null,
  expected: string | null,
): DeploymentCandidate {
  if (candidate !== null && (expected === null || candidate.version === expected)) return candidate;
  if (expected !== null) {
    throw new AgentLightningError({
      code: 'CONFLICT',
      message: `the deployment ${name} was changed at the same time: ${expected} is not its candidate any more`,
      remedy: 'Read `agl deployments`.',
    });
  }
  throw new AgentLightningError({
    code: 'NOT_FOUND',
    message: `the deployment ${name} has no candidate`,
    remedy: `Start a trial: \`agl deploy <run>@best --to ${name} --share 10%\`.`,
  });
}

/** The state after a change, and its entry in the history. */
interface Changed {
  readonly action: DeploymentChange['action'];
  readonly live: string | null;
  readonly candidate: DeploymentCandidate | null;
  readonly version: string;
  readonly previous: string | null;
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
    const { action, live, candidate, version, previous, versions } = change(state);
    const share = candidate?.share ?? null;
    const entry = { timeMs: systemClock.now(), action, version, previous, share, by, reason };
    const next = { live, candidate, versions, history: [...state.history, entry] };
    const served = versions.find((each) => each.version === live)?.prompts ?? null;
    const prompts = served === null ? {} : { prompts: { best: live, prompts: served } };
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
