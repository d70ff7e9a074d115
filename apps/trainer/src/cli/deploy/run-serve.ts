import { userInfo } from 'node:os';
import path from 'node:path';
import { AgentLightningError, type Store } from '@agentlightning/core';
import { systemClock } from '@agentlightning/core/internal';
import { readDeployment } from '@agentlightning/core/protocol';
import { serveGateway } from '@agentlightning/gateway';
import { isCheckpointReference } from '../../config/checkpoint-reference.ts';
import { assertNotWorse } from '../../deployments/assert-not-worse.ts';
import { promote } from '../../deployments/change-deployment.ts';
import { modelVersionOf } from '../../deployments/model-version.ts';
import { ServedDeployments } from '../../deployments/serve-deployments.ts';
import { VersionServer } from '../../deployments/version-server.ts';
import { type CommandTelemetry, withTelemetry } from '../../metrics/command-telemetry.ts';
import { findReferencedRun } from '../../run/referenced-run.ts';
import { registerGateway } from '../../runtime/register-gateway.ts';
import { openExistingStore } from '../open-existing-store.ts';
import { serverLog } from '../serve/server-log.ts';
import { untilStopped } from '../serve/until-stopped.ts';

/** The flags of `agl serve`. */
export interface ServeFlags {
  readonly as?: string;
  readonly runtime?: string;
  readonly dataDir?: string;
  readonly keyEnv?: readonly string[];
  readonly store: string;
  readonly host: string;
  readonly port: number;
  /** Milliseconds. */
  readonly drain: number;
}

/** Serves deployments until the process is stopped, then drains the calls in flight. */
export async function runServe(targets: readonly string[], flags: ServeFlags): Promise<void> {
  await withTelemetry('agl-serve', (telemetry) => runWith(targets, flags, telemetry));
}

async function runWith(
  targets: readonly string[],
  flags: ServeFlags,
  { registry, logStream }: CommandTelemetry,
): Promise<void> {
  const log = serverLog('agl-serve', logStream);
  const store = await openExistingStore(flags.store);
  const versions = new VersionServer({
    dataDir: dataDirOf(flags),
    runtimeAddress: flags.runtime ?? null,
    keyVariables: flags.keyEnv ?? [],
    environment: process.env,
    log,
  });
  const stopping = new AbortController();
  try {
    const names = await deploymentNames(store, targets, flags);
    const deployments = new ServedDeployments({ store, names, versions, clock: systemClock, log });
    const apiKey = process.env['AGL_GATEWAY_KEY'] || null;
    const { host, port } = flags;
    const listening = { host, port, apiKey, registry, log };
    const gateway = await serveGateway({ store, upstream: [], mayBeEmpty: true, deployments, ...listening });
    const unregister = registerGateway(gateway, { store, runId: null });
    let following: Promise<void> = Promise.resolve();
    const close = async (): Promise<void> => {
      stopping.abort();
      await following;
      await gateway.close({ drainMs: flags.drain });
      await unregister();
    };
    try {
      await deployments.start(gateway);
    } catch (error) {
      await close();
      throw error;
    }
    following = deployments.follow(stopping.signal);
    log.info({ url: gateway.url, deployments: names, key: apiKey !== null }, 'deployments are served');
    // Before the ready line, after which a signal may arrive.
    const stopped = untilStopped(close);
    process.stdout.write(`${JSON.stringify({ type: 'ready', url: gateway.url, deployments: names })}\n`);
    await stopped;
  } finally {
    await versions.close();
    await store.close();
  }
  log.info('agl serve has stopped');
}

/** The names of the deployments to serve; a version becomes the first one of its deployment. */
async function deploymentNames(
  store: Store,
  targets: readonly string[],
  flags: ServeFlags,
): Promise<readonly string[]> {
  const [reference] = targets;
  const references = targets.filter(isCheckpointReference);
  if (references.length === 0 && flags.as === undefined) return [...new Set(targets)];
  if (reference === undefined || flags.as === undefined || targets.length > 1 || references.length === 0) {
    throw new AgentLightningError({
      code: 'CONFIG',
      message: 'agl serve takes names of deployments, or one version with --as',
      remedy: 'Deploy each version with `agl deploy <version> --to <name>`, then run `agl serve <name> <name>`.',
    });
  }
  return [await deployFirst(store, reference, flags.as)];
}

/**
 * Makes a version live in a deployment that has none. A restart with the same arguments serves what is live since, such as a later
 * version that was promoted.
 *
 * @throws AgentLightningError CONFLICT when the deployment never had the version
 */
async function deployFirst(store: Store, reference: string, name: string): Promise<string> {
  const { run, choice } = await findReferencedRun(store, reference);
  const version = modelVersionOf(run, choice);
  const known = await store.getRun(name).then(readDeployment, (error: unknown) => {
    if (AgentLightningError.isInstance(error) && error.code === 'NOT_FOUND') return null;
    throw error;
  });
  if (known === null || known.live === null) {
    assertNotWorse(run, version);
    await promote(store, name, { version, by: userInfo().username, reason: 'served with agl serve' });
  } else if (!known.versions.some((each) => each.version === version.version)) {
    throw new AgentLightningError({
      code: 'CONFLICT',
      message: `${known.live} is live in ${name}, and ${version.version} was never deployed there`,
      remedy: `Run \`agl deploy ${reference} --to ${name}\`, with \`--share 10%\` for a trial, then \`agl serve ${name}\`.`,
    });
  }
  return name;
}

function dataDirOf({ dataDir, store }: ServeFlags): string {
  if (dataDir !== undefined) return path.resolve(dataDir);
  return /^(https?|postgres(ql)?):/.test(store)
    ? path.resolve('.agl')
    : path.dirname(path.resolve(store.replace(/^sqlite:/, '')));
}
