import type { IncomingMessage, ServerResponse } from 'node:http';
import { AgentLightningError, type Clock, NotFoundError } from '@agentlightning/core';
import { systemClock } from '@agentlightning/core/internal';
import {
  type AccessRight,
  type AccessRole,
  type AttemptTokens,
  defaultProject,
  errorCodec,
  httpStatusOf,
} from '@agentlightning/core/protocol';
import type { Hono } from 'hono';
import type { Registry } from 'prom-client';
import type { ProjectStores } from '../projects/project-stores.ts';
import type { SqlStore } from '../sql-store.ts';
import { assertRight, roleOf } from './access/access-control.ts';
import { Authenticator } from './access/authenticator.ts';
import { assertProject } from './access/bearer.ts';
import { type ProjectRequest, projectOfRequest } from './access/project-request.ts';
import { BodyBudget } from './limits/body-budget.ts';
import { LongPollLimit } from './limits/long-poll-limit.ts';
import { ServingShares } from './limits/serving-shares.ts';
import { observeRequest, type StoreServerLog } from './observation/observe-requests.ts';
import type { StoreMetrics } from './observation/store-metrics.ts';
import { createStoreApp, defaultMaxWaits, newMetrics, type StoreAppOptions } from './store-app.ts';

/** The application of a project with its metrics. */
interface ProjectApp {
  readonly app: Hono;
  readonly metrics: StoreMetrics;
}

/** The applications of the projects of a server, created at their first request. */
class ProjectApps {
  readonly #projects: Pick<ProjectStores, 'store'>;
  readonly #create: (project: string, store: SqlStore) => ProjectApp;
  readonly #apps = new Map<string, ProjectApp>();
  readonly #main: ProjectApp;

  constructor(options: {
    readonly main: SqlStore;
    readonly projects: Pick<ProjectStores, 'store'>;
    readonly create: (project: string, store: SqlStore) => ProjectApp;
  }) {
    this.#projects = options.projects;
    this.#create = options.create;
    this.#main = options.create(defaultProject, options.main);
    this.#apps.set(defaultProject, this.#main);
  }

  /** @throws NotFoundError for an unknown project */
  async of(project: string): Promise<ProjectApp> {
    const known = this.#apps.get(project);
    if (known !== undefined) return known;
    const store = await this.#projects.store(project);
    const app = this.#apps.get(project) ?? this.#create(project, store);
    this.#apps.set(project, app);
    return app;
  }

  /** The application of a project that had a request; that of the default project for others. */
  opened(project: string): ProjectApp {
    return this.#apps.get(project) ?? this.#main;
  }
}

/** A request to authorise. */
export interface AuthorizationRequest {
  /** The `Authorization` header. */
  readonly authorization: string | undefined;
  /** The project that the key must be for. @default any */
  readonly project?: string;
  readonly right: AccessRight;
  /** What is requested, for the error message. */
  readonly action: string;
}

/** Options of a store's HTTP application. */
export interface StoreHandlerOptions {
  /** The store. The caller closes it after the application. */
  readonly store: SqlStore;
  /** The stores of all projects, of which `store` is the main one. @default the default project only */
  readonly projects?: Pick<ProjectStores, 'names' | 'store'>;
  /**
   * An admin key in addition to those of `store.createAccessKey`. Without any key, only local requests are accepted.
   * @default null none
   */
  readonly apiKey?: string | null;
  /** An additional key of the role worker, for the default project: that of runners. @default null none */
  readonly workerKey?: string | null;
  /**
   * Signs and verifies attempt tokens; its secret is shared with the gateway. @default null attempt tokens are disabled
   */
  readonly attemptTokens?: AttemptTokens | null;
  /**
   * Whether a run is trained by the server of this application, which trusts its state: only keys with the role `admin`
   * change it. @default none is
   */
  readonly isServerRun?: (project: string, runId: string) => Promise<boolean>;
  /** Clock for the expiry of keys. @default the system clock */
  readonly clock?: Clock;
  /** Maximum size of a request body in bytes. @default 33554432 32 MiB */
  readonly maxBodyBytes?: number;
  /** Heartbeat interval of idle event streams in milliseconds. @default 15000 */
  readonly heartbeatMs?: number;
  /** Maximum number of concurrent long polls and event streams; further ones fail with 429. @default 10000 */
  readonly maxWaits?: number;
  /** Request and error log, for example a pino logger. @default null no log */
  readonly log?: StoreServerLog | null;
  /** Duration in milliseconds above which a request is logged as slow, except for long polls. @default 1000 */
  readonly slowRequestMs?: number;
  /**
   * Where the metrics of the default project are registered, for several applications with one `/metrics`. @default a new
   * registry
   */
  readonly registry?: Registry;
  /** Receives internal errors, which are not exposed to clients. @default ignored */
  readonly onFault?: (error: unknown) => void;
}

/** The HTTP application of a store, to be served, or mounted in a server. */
export interface StoreHandler {
  /**
   * Handles a request; `env` has Node's request and response where there are some.
   *
   * @param project - the project that `admit` has determined. @default determined by this call
   */
  fetch(request: Request, env?: object, project?: string): Response | Promise<Response>;
  /** Assigns an id to a request of Node, and reports its outcome to metrics and log. Call it before `fetch`. */
  observe(request: IncomingMessage, response: ServerResponse): void;
  /**
   * Determines the project of a request to another application on the same server.
   *
   * @throws NotFoundError for a project that does not exist, or not for the key of the request
   */
  admit(request: Request): Promise<ProjectRequest>;
  /**
   * Authorises a request of another application on the same server, with the keys of this store.
   *
   * @returns the role of its key
   * @throws AgentLightningError UNAUTHENTICATED, PERMISSION_DENIED for a key without the right, or NOT_FOUND for one of
   *   another project
   */
  authorize(request: AuthorizationRequest): Promise<AccessRole>;
  /** Ends long polls and event streams. */
  close(): void;
}

/**
 * Creates the HTTP application of a store, with the store protocol of Agent Lightning 0.3, without a listener.
 *
 * @example
 * ```ts
 * const handler = createStoreHandler({ store, apiKey });
 * const response = await handler.fetch(new Request('http://localhost/v1/agl/health'));
 * ```
 */
export function createStoreHandler(options: StoreHandlerOptions): StoreHandler {
  const { store, apiKey = null, workerKey = null, attemptTokens = null, clock = systemClock, log = null } = options;
  const projects = options.projects ?? onlyProject(store);
  const closing = new AbortController();
  const authenticator = new Authenticator({
    keys: store,
    revokedTokens: async (project) => (await projects.store(project)).revokedAttemptTokens(),
    apiKey,
    workerKey,
    attemptTokens,
    clock,
  });
  const onFault = (error: unknown): void => {
    log?.error({ err: error }, 'internal error');
    options.onFault?.(error);
  };
  const shares = new ServingShares(clock);
  const shared = { authenticator, shares, bodies: new BodyBudget(), closing: closing.signal, onFault };
  const apps = new ProjectApps({
    main: store,
    projects,
    create: (project, projectStore) => createProjectApp(options, { project, store: projectStore, ...shared }),
  });
  const admit: StoreHandler['admit'] =
    options.projects === undefined
      ? async (request) => ({ project: defaultProject, request })
      : (request) => admitInTurn(request, { authenticator, projects, shares });
  const metricsOf = (project: string | null): StoreMetrics => apps.opened(project ?? defaultProject).metrics;
  const observers = { metricsOf, log, slowRequestMs: options.slowRequestMs ?? 1000 };
  return {
    admit,
    fetch: async (given, env, admitted) => {
      try {
        const { project, request } =
          admitted === undefined ? await admit(given) : { project: admitted, request: given };
        const { app } = await apps.of(project);
        return await app.fetch(request, env);
      } catch (error) {
        return refusalResponse(error, onFault);
      }
    },
    observe: (request, response) => observeRequest(request, response, observers),
    authorize: async ({ authorization, project, right, action }) => {
      const bearer = await authenticator.bearerOf(authorization);
      if (project !== undefined) assertProject(bearer, project);
      assertRight(bearer, right, action);
      return roleOf(bearer);
    },
    close: () => closing.abort(),
  };
}

/** What the application of a project needs in addition to the options of all. */
interface ProjectAppOptions
  extends Required<Pick<StoreAppOptions, 'project' | 'store' | 'authenticator' | 'bodies' | 'closing' | 'onFault'>> {
  readonly shares: ServingShares;
}

function createProjectApp(options: StoreHandlerOptions, { shares, ...given }: ProjectAppOptions): ProjectApp {
  const { project, store } = given;
  const { apiKey = null, attemptTokens = null, isServerRun = async () => false } = options;
  const waits = new LongPollLimit(options.maxWaits ?? defaultMaxWaits);
  // One registry cannot have the same metrics of two projects.
  const registry = project === defaultProject ? options.registry : undefined;
  const metrics = newMetrics(store, waits, registry);
  const charge = (ms: number): void => shares.charge(project, ms);
  store.onBusy(charge);
  const app = createStoreApp({
    ...given,
    apiKey,
    attemptTokens,
    maxBodyBytes: options.maxBodyBytes ?? 32 * 1024 * 1024,
    heartbeatMs: options.heartbeatMs ?? 15_000,
    isServerRun: (runId) => isServerRun(project, runId),
    waits,
    metrics,
    charge,
    clock: options.clock ?? systemClock,
  });
  return { app, metrics };
}

/** Determines the project of a request, and waits until it may send one. */
async function admitInTurn(
  request: Request,
  services: Parameters<typeof projectOfRequest>[1] & { readonly shares: ServingShares },
): Promise<ProjectRequest> {
  const { isKeyed, ...admitted } = await projectOfRequest(request, services);
  // Requests without a key are rejected at once, and cost the default project nothing.
  if (isKeyed) await services.shares.admit(admitted.project, request);
  return admitted;
}

/** A store whose server has one project only. */
function onlyProject(main: SqlStore): Pick<ProjectStores, 'names' | 'store'> {
  return {
    names: async () => [defaultProject],
    store: async (project) => {
      if (project !== defaultProject) throw new NotFoundError('Project', project);
      return main;
    },
  };
}

/** The response to a request that was not admitted to a project. */
function refusalResponse(error: unknown, onFault: (error: unknown) => void): Response {
  if (!AgentLightningError.isInstance(error)) onFault(error);
  const known = AgentLightningError.isInstance(error)
    ? error
    : new AgentLightningError({ code: 'INTERNAL', message: 'Internal server error' });
  return Response.json(errorCodec.encode(known), { status: httpStatusOf(known.code) });
}
