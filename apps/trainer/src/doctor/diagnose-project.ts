import { existsSync } from 'node:fs';
import path from 'node:path';
import { AgentLightningError } from '@agentlightning/core';
import { addressText } from '@agentlightning/core/internal';
import { defaultStoreUrl } from '../config/environment.ts';
import { loadConfig } from '../config/load-config.ts';
import { isPromptSearch, type ResolvedRun } from '../config/resolve-run.ts';
import { projectDependencies } from '../project-setup/installed-packages.ts';
import { openRuntime } from '../runtime/open-runtime.ts';
import { type CheckedEndpoint, checkEndpoint } from './check-endpoint.ts';
import { checkGpu, checkPort, checkSecrets } from './check-machine.ts';
import { checkStore } from './check-store.ts';
import { checkTinkerServer } from './check-tinker-server.ts';
import { checkVersions } from './check-versions.ts';
import { defaultDashboardPort } from './dashboard-port.ts';
import { type Finding, fine } from './finding.ts';

/** Inputs of `agl doctor`. */
export interface Examination {
  /** The folder of the project. */
  readonly folder: string;
  /** The configuration file. */
  readonly configFile: string;
  /** An endpoint to check instead of the runtime of the configuration; null for that. */
  readonly endpoint: CheckedEndpoint | null;
  /** The key of a store server. */
  readonly storeKey: string | null;
  readonly environment: Readonly<Record<string, string | undefined>>;
}

/** The default port of `agl server`. */
const serverPort = 4747;

/** Checks everything that a training needs. Never throws for a finding. */
export async function diagnoseProject({
  folder,
  configFile,
  endpoint,
  storeKey,
  environment,
}: Examination): Promise<readonly Finding[]> {
  const loaded = await load(configFile);
  const shared = loaded.config === null ? null : isPromptSearch(loaded.config) ? loaded.config.shared : loaded.config;
  const noRuntime: Finding = { name: 'runtime', status: 'skipped', detail: 'no configuration', remedy: null };
  return [
    ...versions(folder),
    loaded.finding,
    await checkStore(shared?.storeUrl ?? defaultStoreUrl, storeKey),
    ...(endpoint === null ? [] : await checkEndpoint(endpoint)),
    ...(endpoint === null ? (loaded.config === null ? [noRuntime] : await checkRuntime(loaded.config)) : []),
    await checkPort(defaultDashboardPort, { user: 'agl dashboard', remedy: 'Use agl dashboard --port <n>.' }),
    await checkPort(serverPort, { user: 'agl server', remedy: 'Use agl server --port <n>.' }),
    await checkGpu(),
    ...checkSecrets(environment),
  ];
}

function versions(folder: string): readonly Finding[] {
  try {
    return checkVersions(folder, projectDependencies(folder));
  } catch (error) {
    return [findingOf('project', error)];
  }
}

async function load(file: string): Promise<{ readonly config: ResolvedRun | null; readonly finding: Finding }> {
  const name = 'configuration';
  if (!existsSync(file)) {
    const detail = `${path.resolve(file)} does not exist`;
    return { config: null, finding: { name, status: 'warning', detail, remedy: 'Run agl init, or pass its path.' } };
  }
  try {
    return { config: await loadConfig(file), finding: fine(name, path.resolve(file)) };
  } catch (error) {
    return { config: null, finding: findingOf(name, error) };
  }
}

function findingOf(name: string, error: unknown): Finding {
  if (AgentLightningError.isInstance(error))
    return { name, status: 'error', detail: error.message, remedy: error.remedy };
  return { name, status: 'error', detail: String(error), remedy: 'Correct the file.' };
}

/** Checks the runtime of a configuration, and the endpoint and token ids of its model as far as they exist before a run. */
async function checkRuntime(config: ResolvedRun): Promise<readonly Finding[]> {
  const { runtime } = config;
  const { dataDir } = isPromptSearch(config) ? config.shared : config;
  if (runtime.type === 'endpoint') {
    const findings = [...(await checkEndpoint({ ...runtime, needsTokenIds: false }))];
    if (isPromptSearch(config) && config.optimizer !== null) {
      const [optimizer] = await checkEndpoint({ ...config.optimizer, needsTokenIds: false });
      if (optimizer !== undefined) findings.push({ ...optimizer, name: 'optimiser model' });
    }
    return findings;
  }
  const served: Finding = {
    name: 'token ids',
    status: 'skipped',
    detail: 'the runtime serves the model when a run starts',
    remedy: 'Run agl dev: it reports a model call that cannot be trained on.',
  };
  try {
    if (runtime.type === 'tinker') return [...(await checkTinkerServer(runtime)), served];
    const open = await openRuntime(runtime, { dataDir, timeoutMs: 0, onWait: () => undefined });
    try {
      const { models } = await open.runtime.capabilities();
      const place = runtime.type === 'grpc' ? addressText(runtime.address) : 'embedded, on the CPU';
      return [fine('runtime', `${place}; models: ${models.map(({ name }) => name).join(', ')}`), served];
    } finally {
      await open.close();
    }
  } catch (error) {
    const isOurs = AgentLightningError.isInstance(error);
    const detail = isOurs ? error.message : String(error);
    return [{ name: 'runtime', status: 'error', detail, remedy: isOurs ? error.remedy : 'Check the address.' }, served];
  }
}
