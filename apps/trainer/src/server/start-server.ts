import { mkdir, statfs } from 'node:fs/promises';
import { systemClock } from '@agentlightning/core/internal';
import { type AttemptTokens, assertStrongKey, closeServer, hostAndPort, listen } from '@agentlightning/core/protocol';
import { createStoreHandler, openProjectStores, type ProjectStores, type StoreHandler } from '@agentlightning/store';
import type { pino } from 'pino';
import type { Registry } from 'prom-client';
import { attemptTokensOf } from '../config/attempt-tokens.ts';
import { packageVersion } from '../events/package-version.ts';
import { readOrCreateSecret, requiredAttemptTokens } from '../runtime/attempt-secret.ts';
import { chooseRuntime } from './choose-runtime.ts';
import { DashboardSessions } from './dashboard-sessions.ts';
import { RunSlots } from './run-slots.ts';
import { serverProtocol } from './server-app.ts';
import { ServerFolder, type ServerSecrets } from './server-folder.ts';
import { createServerListener } from './server-listener.ts';
import { ServerProjects } from './server-projects.ts';
import { ServerRuntime } from './server-runtime.ts';
import type { ServerSettings } from './settings/server-settings.ts';

/** Options of {@link startServer}. */
export interface StartServerOptions {
  readonly settings: ServerSettings;
  readonly secrets: ServerSecrets;
  readonly log: pino.Logger;
  /** Where the metrics of the default project are registered. */
  readonly registry: Registry;
}

/** A running server. */
export interface TrainingServer {
  readonly url: string;
  /** The file with the key; null when the environment has it. */
  readonly keyFile: string | null;
  /** The device of the runtime. */
  readonly device: string;
  /**
   * Takes no more requests, lets calls end and the current run finish its operation; the run continues at the next start.
   *
   * @param drainMs - in milliseconds
   */
  close(drainMs: number): Promise<void>;
}

/** Grace period of connections after everything else has ended, in milliseconds. */
const closeGraceMs = 2000;

/**
 * Starts store, gateway, runtime and dashboard behind one port, and trains the queued runs.
 *
 * @throws AgentLightningError PORT_IN_USE; CONFIG for a wrong setting; RUNTIME_UNAVAILABLE
 */
export async function startServer(options: StartServerOptions): Promise<TrainingServer> {
  const closers: (() => Promise<unknown>)[] = [];
  try {
    return await open(options, closers);
  } catch (error) {
    for (const close of closers) await close();
    throw error;
  }
}

async function open(
  { settings, secrets, log, registry }: StartServerOptions,
  closers: (() => Promise<unknown>)[],
): Promise<TrainingServer> {
  const { host } = settings;
  assertStrongKey(secrets.serverKey, { what: 'the server', host, option: 'AGL_SERVER_KEY' });
  const folder = new ServerFolder(settings.data);
  const serverKey = secrets.serverKey ?? (await readOrCreateSecret(folder.keyFile));
  const storeUrl = settings.store ?? folder.storeUrl;
  const opened = await openStores({ secrets, log, registry }, { serverKey, storeUrl, folder });
  const { stores, handler, attemptTokens } = opened;
  closers.unshift(() => stores.close());
  const runtime: ServerRuntime = new ServerRuntime({
    choice: await chooseRuntime(settings),
    settings,
    secrets,
    folder,
    onRestart: () => void projects.clearModels(),
    log,
    clock: systemClock,
  });
  closers.unshift(() => runtime.close());
  const { device } = await runtime.check();
  const closing = new AbortController();
  const sessions = new DashboardSessions(handler.authorize);
  // Set when it listens, before the first run starts.
  let localUrl = '';
  const projects = new ServerProjects({
    settings,
    folder,
    stores,
    handler,
    runtime,
    slots: new RunSlots(settings.maxConcurrentRuns, systemClock),
    sessions,
    serverKey,
    attemptTokens,
    description: {
      name: 'agl server',
      version: packageVersion(),
      protocol: serverProtocol,
      device,
      model: (await runtime.config()).model ?? null,
      algorithm: settings.algorithm,
    },
    localUrl: () => localUrl,
    closing: closing.signal,
    registry,
    log,
    clock: systemClock,
  });
  const onFault = (error: unknown): void => log.error({ err: error }, 'internal error');
  const listener = createServerListener({ projects, handler, sessions, onFault });
  const port = await listen(listener, 'the server', { host, port: settings.port });
  localUrl = `http://${hostAndPort({ host: localHost(host), port })}`;
  await projects.start();
  return {
    url: `http://${hostAndPort({ host, port })}`,
    keyFile: secrets.serverKey === null ? folder.keyFile : null,
    device,
    close: async (drainMs) => {
      closing.abort();
      await projects.close(drainMs);
      handler.close();
      await closeServer(listener, closeGraceMs, systemClock);
      for (const close of closers) await close();
    },
  };
}

/** The stores of all projects, and their HTTP application. */
interface OpenedStores {
  readonly stores: ProjectStores;
  readonly handler: StoreHandler;
  readonly attemptTokens: AttemptTokens | null;
}

async function openStores(
  { secrets, log, registry }: Pick<StartServerOptions, 'secrets' | 'log' | 'registry'>,
  {
    serverKey,
    storeUrl,
    folder,
  }: { readonly serverKey: string; readonly storeUrl: string; readonly folder: ServerFolder },
): Promise<OpenedStores> {
  const configured = attemptTokensOf(secrets.tokenSecret ?? '');
  const tokenSource = { attemptTokens: configured, gateway: { url: null }, dataDir: folder.path, storeUrl };
  const attemptTokens = await requiredAttemptTokens(tokenSource);
  const stores = await openProjectStores(storeUrl, { maxSizeBytes: await maxStoreBytes(folder) });
  const application = {
    store: stores.main,
    projects: stores,
    apiKey: serverKey,
    workerKey: secrets.workerKey,
    attemptTokens,
    isServerRun: (project: string, runId: string) => folder.project(project).hasRequest(runId),
    log,
    registry,
  };
  return { stores, handler: createStoreHandler(application), attemptTokens };
}

/** The share of the disk that the store of one project may use: the others' runs need some. */
const storeShare = 0.8;

async function maxStoreBytes(folder: ServerFolder): Promise<number> {
  await mkdir(folder.path, { recursive: true, mode: 0o700 });
  const { blocks, bsize } = await statfs(folder.path);
  return Math.floor(blocks * bsize * storeShare);
}

/** The host by which processes of this machine reach a server that listens at all addresses. */
function localHost(host: string): string {
  if (host === '0.0.0.0') return '127.0.0.1';
  return host === '::' ? '::1' : host;
}
