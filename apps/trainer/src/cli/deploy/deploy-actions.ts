import { userInfo } from 'node:os';
import { AgentLightningError, type Store } from '@agentlightning/core';
import { parseCheckpointReference } from '../../config/checkpoint-reference.ts';
import {
  type DeploymentState,
  type ModelVersion,
  promote,
  readDeployment,
  rollback,
} from '../../deployments/deployment-record.ts';
import { modelVersionOf } from '../../deployments/model-version.ts';
import { textTable } from '../../report/text-formats.ts';
import { openExistingStore } from '../open-existing-store.ts';

/** The flags of `agl deployments` and `agl models`. */
export interface ListFlags {
  readonly store: string;
  readonly json?: boolean;
}

/** The flags of `agl deploy`. */
export interface DeployFlags extends ListFlags {
  readonly to: string;
  readonly rollback?: boolean;
  readonly reason: string;
}

/**
 * Makes a version live, or the previous one.
 *
 * @throws AgentLightningError CONFIG without exactly one of version and `--rollback`, CONFLICT when another change was faster
 */
export async function deploy(reference: string | null, flags: DeployFlags): Promise<void> {
  const { to: name, reason } = flags;
  const isRollback = flags.rollback === true;
  if ((reference !== null) === isRollback) {
    throw new AgentLightningError({
      code: 'CONFIG',
      message: 'agl deploy takes a version or --rollback',
      remedy: `Run \`agl deploy <run>@best --to ${name}\` or \`agl deploy --to ${name} --rollback\`.`,
    });
  }
  const author = { by: userInfo().username, reason };
  await withStore(flags, async (store) => {
    const state =
      reference === null
        ? await rollback(store, name, author)
        : await promote(store, name, { ...author, version: await versionOf(store, reference) });
    const last = state.history.at(-1);
    const text = `${last?.version} is live in ${name}${last?.previous == null ? '' : `, instead of ${last.previous}`}.`;
    write([flags.json === true ? JSON.stringify(deploymentRecord(name, state)) : text]);
  });
}

async function versionOf(store: Store, reference: string): Promise<ModelVersion> {
  return modelVersionOf(await store.getRun(parseCheckpointReference(reference).runId), reference);
}

/** Writes the deployments of a store. */
export async function listDeployments(flags: ListFlags): Promise<void> {
  await withStore(flags, async (store) => {
    const found = await deploymentsOf(store);
    if (flags.json === true)
      return write(found.map(({ name, state }) => JSON.stringify(deploymentRecord(name, state))));
    if (found.length === 0) return write(['No deployment yet. `agl deploy <run>@best --to <name>` creates one.']);
    const rows = found.map(({ name, state: { live, history } }) => {
      const last = history.at(-1);
      const since = last === undefined ? '-' : new Date(last.timeMs).toISOString();
      return [name, live ?? '-', since, last?.by ?? '-', last?.reason ?? ''];
    });
    write(textTable(['deployment', 'live', 'since', 'by', 'reason'], rows));
  });
}

/**
 * Writes the versions of all deployments, or one of them.
 *
 * @throws AgentLightningError NOT_FOUND for an unknown version
 */
export async function listModels(version: string | null, flags: ListFlags): Promise<void> {
  await withStore(flags, async (store) => {
    const known = await modelsOf(store);
    const models = version === null ? known : known.filter((model) => model.version === version);
    if (version !== null && models.length === 0) {
      throw new AgentLightningError({
        code: 'NOT_FOUND',
        message: `no deployment has had the version "${version}"`,
        remedy: 'Read `agl models`.',
      });
    }
    if (flags.json === true) return write(models.map((model) => JSON.stringify(model)));
    if (version !== null) return write(models.map((model) => JSON.stringify(model, null, 2)));
    if (models.length === 0) return write(['No version has been deployed yet.']);
    const rows = models.map(({ version: name, kind, baseModel, reward, deployments }) => {
      const live = deployments.map((each) => (each.isLive ? `${each.name} (live)` : each.name)).join(', ');
      return [name, kind, baseModel ?? '-', reward === null ? '-' : reward.toFixed(2), live];
    });
    write(textTable(['version', 'kind', 'base model', 'reward', 'deployments'], rows));
  });
}

/** A version, and where it is or was live. */
type ListedModel = ModelVersion & {
  readonly deployments: readonly { readonly name: string; readonly isLive: boolean }[];
};

async function modelsOf(store: Store): Promise<readonly ListedModel[]> {
  const models = new Map<string, ListedModel>();
  for (const { name, state } of await deploymentsOf(store)) {
    for (const version of state.versions) {
      const earlier = models.get(version.version)?.deployments ?? [];
      const deployments = [...earlier, { name, isLive: state.live === version.version }];
      models.set(version.version, { ...version, deployments });
    }
  }
  return [...models.values()];
}

async function deploymentsOf(
  store: Store,
): Promise<readonly { readonly name: string; readonly state: DeploymentState }[]> {
  const { items } = await store.queryRuns();
  return items.flatMap((run) => {
    const state = readDeployment(run);
    return state === null ? [] : [{ name: run.runId, state }];
  });
}

function deploymentRecord(name: string, { live, history }: DeploymentState): object {
  const changes = history.map(({ timeMs, ...change }) => ({ ...change, time: new Date(timeMs).toISOString() }));
  return { deployment: name, live, history: changes };
}

async function withStore(flags: ListFlags, work: (store: Store) => Promise<void>): Promise<void> {
  const store = await openExistingStore(flags.store);
  try {
    await work(store);
  } finally {
    await store.close();
  }
}

function write(lines: readonly string[]): void {
  for (const line of lines) process.stdout.write(`${line}\n`);
}
