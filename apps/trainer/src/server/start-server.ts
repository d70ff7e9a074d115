import { AgentLightningError, type Clock } from '@agentlightning/core';
import { addressText, systemClock } from '@agentlightning/core/internal';
import { closeServer, hostAndPort, listen } from '@agentlightning/core/protocol';
import { createDashboardHandler } from '@agentlightning/dashboard';
import { createGateway, type Gateway } from '@agentlightning/gateway';
import { createStoreHandler, openStore, type SqlStore, type StoreHandler } from '@agentlightning/store';
import type { pino } from 'pino';
import { attemptTokensOf } from '../config/attempt-tokens.ts';
import { warningExplanations } from '../diagnosis/run-warning.ts';
import { packageVersion } from '../package-version.ts';
import { requiredAttemptTokens } from '../runtime/attempt-secret.ts';
import { readOrCreateSecret } from '../runtime/secret-file.ts';
import { DataSets } from './data-sets.ts';
import { type RunSettings, runSettings } from './run-config.ts';
import { RunQueue } from './run-queue.ts';
import { type RunRequest, readRunRequest } from './run-request.ts';
import { ServedModels } from './served-models.ts';
import { ServerApi } from './server-api.ts';
import { createServerApp, serverProtocol } from './server-app.ts';
import { ServerFolder } from './server-folder.ts';
import { createServerListener } from './server-listener.ts';
import { ServerRuntime } from './server-runtime.ts';
import type { ServerSecrets } from './server-secrets.ts';
import type { ServerSettings } from './settings/server-settings.ts';

/** Options of {@link startServer}. */
export interface StartServerOptions {
  readonly settings: ServerSettings;
  readonly secrets: ServerSecrets;
  readonly log: pino.Logger;
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

/** How long connections may take to end when everything else has, in milliseconds. */
const closeGraceMs = 2000;

/** What a server opens before it listens. */
interface ServerParts {
  readonly folder: ServerFolder;
  readonly serverKey: string;
  readonly store: SqlStore;
  readonly handler: StoreHandler;
  readonly gateway: Gateway;
  readonly runtime: ServerRuntime;
  readonly models: ServedModels;
  readonly device: string;
}

/**
 * Starts store, gateway, runtime and dashboard behind one port, and trains the queued runs.
 *
 * @throws AgentLightningError PORT_IN_USE; CONFIG for a wrong setting; RUNTIME_UNAVAILABLE
 */
export async function startServer(options: StartServerOptions): Promise<TrainingServer> {
  const closers: (() => Promise<unknown>)[] = [];
  try {
    const parts = await openParts(options, (close) => closers.unshift(close));
    return await serve(options, parts, closers);
  } catch (error) {
    for (const close of closers) await close();
    throw error;
  }
}

async function openParts(
  { settings, secrets, log }: StartServerOptions,
  onOpen: (close: () => Promise<unknown>) => void,
): Promise<ServerParts> {
  const folder = new ServerFolder(settings.data);
  const serverKey = secrets.serverKey ?? (await readOrCreateSecret(folder.keyFile));
  const storeUrl = settings.store ?? folder.storeUrl;
  const attemptTokens = await requiredAttemptTokens({
    attemptTokens: attemptTokensOf(secrets.tokenSecret ?? ''),
    gatewayUrl: null,
    dataDir: folder.path,
    storeUrl,
  });
  const store = await openStore(storeUrl);
  onOpen(() => store.close());
  const handler = createStoreHandler({ store, apiKey: serverKey, attemptTokens, log });
  const gateway = createGateway({
    store,
    upstream: [],
    mayBeEmpty: true,
    apiKey: serverKey,
    adminKey: serverKey,
    attemptTokens,
    log,
  });
  onOpen(() => gateway.close());
  const runtime: ServerRuntime = new ServerRuntime({
    settings,
    secrets,
    dataDir: folder.path,
    onRestart: () => models.clear(),
    log,
    clock: systemClock,
  });
  onOpen(() => runtime.close());
  const models = new ServedModels({ gateway, runtime, dataDir: folder.path });
  const { device } = await runtime.check();
  return { folder, serverKey, store, handler, gateway, runtime, models, device };
}

async function serve(
  { settings, secrets, log }: StartServerOptions,
  parts: ServerParts,
  closers: readonly (() => Promise<unknown>)[],
): Promise<TrainingServer> {
  const { folder, serverKey, store, handler, gateway, models, device } = parts;
  const { host, algorithm } = settings;
  const dataSets = new DataSets(folder.dataSets);
  const clock: Clock = systemClock;
  const closing = new AbortController();
  // Set when it listens, before the first run starts.
  let localUrl = '';
  const settingsOf = (request: RunRequest): Promise<RunSettings> =>
    settingsFor(request, { parts, settings, dataSets, localUrl });
  const queue = new RunQueue({
    store,
    folder,
    settingsOf: async (runId) => await settingsOf(await requestOf(folder, runId)),
    onUpstreams: (runId, upstreams) => models.start(runId, upstreams),
    log,
    clock,
  });
  const server = createServerApp({
    api: new ServerApi({ store, folder, queue, models, dataSets, settingsOf }),
    queue,
    dataSets,
    description: {
      name: 'agl server',
      version: packageVersion(),
      protocol: serverProtocol,
      device,
      model: (await parts.runtime.config()).model ?? null,
      algorithm,
    },
    isReady: () => !closing.signal.aborted,
    authorize: handler.authorize,
    closing: closing.signal,
    onFault: (error) => log.error({ err: error }, 'internal error'),
  });
  const label = addressText(settings.store ?? folder.storeUrl);
  const dashboard = await createDashboardHandler({ store, label, host, viewerKey: serverKey, warningExplanations });
  const listener = createServerListener({ server, store: handler, gateway: gateway.app, dashboard });
  const port = await listen(listener, 'the server', { host, port: settings.port });
  localUrl = `http://${hostAndPort({ host: localHost(host), port })}`;
  await queue.start();
  return {
    url: `http://${hostAndPort({ host, port })}`,
    keyFile: secrets.serverKey === null ? folder.keyFile : null,
    device,
    close: async (drainMs) => {
      closing.abort();
      await queue.close(drainMs);
      handler.close();
      dashboard.close();
      await gateway.drain(drainMs).catch(() => undefined);
      await closeServer(listener, closeGraceMs, clock);
      for (const close of closers) await close();
    },
  };
}

async function settingsFor(
  request: RunRequest,
  server: {
    readonly parts: Pick<ServerParts, 'folder' | 'serverKey' | 'runtime'>;
    readonly settings: ServerSettings;
    readonly dataSets: DataSets;
    readonly localUrl: string;
  },
): Promise<RunSettings> {
  const { parts, settings, dataSets, localUrl } = server;
  const { folder, serverKey, runtime } = parts;
  return runSettings(request, {
    dataDir: folder.path,
    url: localUrl,
    serverKey,
    runtime: await runtime.config(),
    hasSmallCheckpoints: runtime.isEmbedded,
    defaults: settings,
    tasks: { train: await dataSets.file(request.data.train), test: await dataSets.file(request.data.test) },
  });
}

async function requestOf(folder: ServerFolder, runId: string): Promise<RunRequest> {
  const request = await readRunRequest(folder, runId);
  if (request !== null) return request;
  throw new AgentLightningError({
    code: 'NOT_FOUND',
    message: `the request of run ${runId} is missing: ${folder.requestFile(runId)}`,
    remedy: 'Restore the data directory of the server from a backup, or create the run again.',
  });
}

/** The host by which processes of this machine reach a server that listens at all addresses. */
function localHost(host: string): string {
  if (host === '0.0.0.0') return '127.0.0.1';
  return host === '::' ? '::1' : host;
}
