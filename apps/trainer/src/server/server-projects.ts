import { AgentLightningError, type Clock, type JsonObject, NotFoundError, type Run } from '@agentlightning/core';
import { addressText } from '@agentlightning/core/internal';
import { instrumentOptions, operationalMetrics } from '@agentlightning/core/metrics';
import { type AttemptTokens, defaultProject } from '@agentlightning/core/protocol';
import { createDashboardHandler, type DashboardHandler } from '@agentlightning/dashboard/internal';
import { type AttemptTokenVerifier, createGateway, type Gateway, type KeyAuthenticator } from '@agentlightning/gateway';
import type { ProjectStores, SqlStore, StoreHandler } from '@agentlightning/store';
import type { pino } from 'pino';
import { Gauge, Registry } from 'prom-client';
import type { ResolvedConfig } from '../config/resolve-config.ts';
import { datasetLines, emptyDatasetCounts } from '../dataset/dataset-lines.ts';
import { warningExplanations } from '../events/run-warning.ts';
import { TrainingMetrics } from '../metrics/training-metrics.ts';
import { auditRun } from '../rewards/audit-run.ts';
import type { DashboardSessions } from './dashboard-sessions.ts';
import { DataSets } from './data-sets.ts';
import { type RunSettings, resolveRunSettings, runSettings } from './run-config.ts';
import { RunQueue } from './run-queue.ts';
import { type RunRequest, readRunRequest } from './run-request.ts';
import type { RunSlots } from './run-slots.ts';
import { ServedModels } from './served-models.ts';
import { ServerApi } from './server-api.ts';
import { createServerApp } from './server-app.ts';
import type { ServerFolder } from './server-folder.ts';
import type { ServerRuntime } from './server-runtime.ts';
import type { ServerSettings } from './settings/server-settings.ts';

/** What all projects of a server share. */
export interface ServerServices {
  readonly settings: ServerSettings;
  readonly folder: ServerFolder;
  readonly stores: ProjectStores;
  readonly handler: StoreHandler;
  readonly runtime: ServerRuntime;
  readonly slots: RunSlots;
  readonly sessions: DashboardSessions;
  /** An admin key. */
  readonly serverKey: string;
  readonly attemptTokens: AttemptTokens | null;
  /** What the server is, for clients. */
  readonly description: JsonObject;
  /** The URL of the server, as its own processes reach it, once it listens. */
  readonly localUrl: () => string;
  readonly closing: AbortSignal;
  /** Where the metrics of the default project are registered. */
  readonly registry: Registry;
  readonly log: pino.Logger;
  readonly clock: Clock;
}

/** The applications and the queue of a project. */
export interface ServerProject extends ProjectApplications {
  readonly queue: RunQueue;
  readonly models: ServedModels;
  /** Ends calls and streams. */
  close(drainMs: number): Promise<void>;
}

/** The projects of a server, each with applications that have its store only, opened at the first use. */
export class ServerProjects {
  readonly #services: ServerServices;
  readonly #projects = new Map<string, Promise<ServerProject>>();

  constructor(services: ServerServices) {
    this.#services = services;
  }

  /** @throws NotFoundError for an unknown project */
  of(name: string): Promise<ServerProject> {
    const known = this.#projects.get(name);
    if (known !== undefined) return known;
    const opening = openProject(name, this.#services);
    this.#projects.set(name, opening);
    opening.catch(() => this.#projects.delete(name));
    return opening;
  }

  /** Continues the unfinished runs of all projects. */
  async start(): Promise<void> {
    for (const name of await this.#services.stores.names()) await this.of(name);
  }

  /** Forgets the models of all projects: the runtime was started again. */
  async clearModels(): Promise<void> {
    for (const project of await this.#opened()) project.models.clear();
  }

  async close(drainMs: number): Promise<void> {
    await Promise.all((await this.#opened()).map((project) => project.close(drainMs)));
  }

  async #opened(): Promise<readonly ServerProject[]> {
    const settled = await Promise.allSettled(this.#projects.values());
    return settled.flatMap((each) => (each.status === 'fulfilled' ? [each.value] : []));
  }
}

async function openProject(name: string, services: ServerServices): Promise<ServerProject> {
  const { handler, runtime, slots, description, closing, log, clock } = services;
  const store = await services.stores.store(name);
  const folder = services.folder.project(name);
  const project = name === defaultProject ? undefined : name;
  const registry = project === undefined ? services.registry : new Registry();
  const gateway = openGateway({ name, store, registry }, services);
  const dataSets = new DataSets(folder.dataSets, { clock });
  const settingsOf = (request: RunRequest): Promise<RunSettings> => settingsFor(request, { name, services, dataSets });
  const settingsOfRun = async (runId: string): Promise<RunSettings> => settingsOf(await requestOf(folder, runId));
  const configOf = async (runId: string): Promise<ResolvedConfig> => resolveRunSettings(await settingsOfRun(runId));
  const models = new ServedModels({ gateway, runtime, dataDir: services.folder.path, project, configOf });
  const queue = new RunQueue(
    {
      store,
      folder,
      settingsOf: async (runId) => {
        // A run does not fail while the runtime is started again.
        await runtime.whenUp(closing);
        return await settingsOfRun(runId);
      },
      onUpstreams: (runId, upstreams) => models.start(runId, upstreams),
      metrics: new TrainingMetrics(registry),
      log,
      clock,
    },
    { slots, project: name },
  );
  countRuns(registry, () => queue.runs());
  const server = createServerApp({
    api: new ServerApi({ store, folder, queue, models, dataSets, settingsOf }),
    queue,
    dataSets,
    description,
    isReady: () => !closing.aborted,
    down: () => (runtime.isUp ? [] : ['runtime']),
    authorize: (request) => handler.authorize({ ...request, project: name }),
    closing,
    onFault: (error) => log.error({ err: error }, 'internal error'),
  });
  const dashboard = await openDashboard({ name, store }, services);
  await queue.start();
  return {
    server,
    store: { fetch: (request, env) => handler.fetch(request, env, name) },
    gateway: gateway.app,
    dashboard,
    queue,
    models,
    close: async (drainMs) => {
      await queue.close(drainMs);
      dashboard.close();
      await gateway.drain(drainMs).catch(() => undefined);
      await gateway.close();
    },
  };
}

/** A project with its store. */
interface OpenStore {
  readonly name: string;
  readonly store: SqlStore;
}

function openDashboard({ name, store }: OpenStore, services: ServerServices): Promise<DashboardHandler> {
  const { sessions, folder, settings } = services;
  const address = addressText(settings.store ?? folder.storeUrl);
  return createDashboardHandler({
    store,
    annotator: store,
    label: name === defaultProject ? address : `${address}, project ${name}`,
    host: settings.host,
    viewers: sessions.viewersOf(name),
    warningExplanations,
    datasets: (request) => datasetLines(store, request, emptyDatasetCounts()),
    auditor: (runId) => auditRun({ store, runId }),
  });
}

function openGateway(
  { name: project, store, registry }: OpenStore & { readonly registry: Registry },
  { handler, attemptTokens, log }: ServerServices,
): Gateway {
  const keys: KeyAuthenticator = {
    roleOf: (key) =>
      handler
        .authorize({ authorization: `Bearer ${key}`, project, right: 'public', action: 'call models' })
        .catch((error: unknown) => {
          if (AgentLightningError.isInstance(error) && error.code === 'UNAUTHENTICATED') return null;
          throw error;
        }),
  };
  return createGateway({
    store,
    upstream: [],
    mayBeEmpty: true,
    attemptTokens: attemptTokens === null ? null : tokensOf(project, attemptTokens),
    keys,
    log,
    registry,
  });
}

/** The tokens of a project. Attempts of another one do not exist in it. */
function tokensOf(project: string, tokens: AttemptTokens): AttemptTokenVerifier {
  return {
    verify: async (token) => {
      const claims = await tokens.verify(token);
      if (claims.project !== project) throw new NotFoundError('Attempt', claims.attemptId);
      return claims;
    },
  };
}

async function settingsFor(
  request: RunRequest,
  {
    name,
    services,
    dataSets,
  }: { readonly name: string; readonly services: ServerServices; readonly dataSets: DataSets },
): Promise<RunSettings> {
  const { folder, serverKey, runtime, settings, localUrl } = services;
  const isDefault = name === defaultProject;
  return runSettings(request, {
    dataDir: folder.path,
    project: isDefault ? null : name,
    url: isDefault ? localUrl() : `${localUrl()}/projects/${name}`,
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

/** Registers the number of runs of a server by status. */
function countRuns(registry: Registry, read: () => Promise<readonly Run[]>): void {
  new Gauge({
    ...instrumentOptions(operationalMetrics.serverRuns),
    registers: [registry],
    async collect() {
      const runs = await read();
      this.reset();
      for (const { status } of runs) this.inc({ status });
    },
  });
}

/** An HTTP application. */
export interface HttpApplication {
  fetch(request: Request, env?: object): Response | Promise<Response>;
}

/** The applications of a project behind the one port. */
export interface ProjectApplications {
  readonly server: HttpApplication;
  readonly store: HttpApplication;
  readonly gateway: HttpApplication;
  readonly dashboard: HttpApplication;
}
