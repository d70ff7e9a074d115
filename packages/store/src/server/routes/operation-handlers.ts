import { AgentLightningError, type Store } from '@agentlightning/core';
import { type OperationName, operationRoutes, type StoreRoute, specialRoutes } from '@agentlightning/core/protocol';
import type { FeedbackInput } from '@agentlightning/core/spans';
import type {
  AttemptQuery,
  MetricQuery,
  ResourcesQuery,
  RolloutQuery,
  RunQuery,
  SpanQuery,
  WorkerQuery,
} from '@agentlightning/core/store';
import type { Context } from 'hono';
import type { StreamedPage } from '../../sql/list-pages.ts';
import type { SqlStore } from '../../sql-store.ts';
import { roleOf } from '../access/access-control.ts';
import { assertOwnAttempts, assertOwnResources, assertOwnRollout } from '../access/agent-limits.ts';
import { bearerOf } from '../access/bearer.ts';
import { WorkerRecords } from '../access/worker-records.ts';
import { doOnce, idempotentRequest } from '../idempotency.ts';
import { listResponse } from '../list-response.ts';
import { readInput } from '../request-input.ts';
import {
  idsOf,
  outputResponse,
  type RouteHandler,
  type SpecialHandlers,
  type StoreRouteOptions,
} from '../route-handler.ts';

type Result<TName extends OperationName> = Awaited<ReturnType<Store[TName]>>;

/** A request for an operation. */
interface OperationCall<TName extends OperationName> {
  readonly context: Context;
  readonly parameters: Parameters<Store[TName]>;
  /** Runs the operation, once for requests with the same idempotency key. */
  readonly run: () => Promise<Result<TName>>;
}

/** What the server does around operations: access checks of attempt tokens, metrics, idempotency in batches. */
type Wrappers = {
  readonly [TName in OperationName]?: (call: OperationCall<TName>) => Promise<Result<TName>>;
};

function wrappersOf({ store, metrics, isServerRun }: StoreRouteOptions): Wrappers {
  const workerRecords = new WorkerRecords(store);
  return {
    enqueueRollouts: async ({ run }) => {
      const enqueued = await run();
      metrics.rolloutsEnqueued(enqueued.length);
      return enqueued;
    },
    getRollout: async ({ context, parameters: [rolloutId], run }) => {
      assertOwnRollout(context, rolloutId);
      return run();
    },
    getLatestAttempt: async ({ context, parameters: [rolloutId], run }) => {
      assertOwnRollout(context, rolloutId);
      return run();
    },
    nextSpanSequenceIds: async ({ context, parameters: [attempts], run }) => {
      assertOwnAttempts(context, attempts);
      return run();
    },
    updateWorker: async ({ context, parameters: [workerId, statistics], run }) => {
      await workerRecords.assertMayWrite(context, workerId, statistics);
      return run();
    },
    recordFeedback: async ({ context, parameters: [feedback], run }) => {
      const role = roleOf(bearerOf(context));
      if (role === 'feedback' || role === 'ingest') await assertProduction(store, feedback, role);
      return run();
    },
    updateRun: async ({ context, parameters: [runId, patch], run }) => {
      const isTrusted = patch.state === undefined || roleOf(bearerOf(context)) === 'admin';
      if (!isTrusted && (await isServerRun(runId))) throw stateOfServer(runId);
      return run();
    },
    // These two use several transactions, the last of which stores the response.
    deleteRun: async ({ context, parameters: [runId, options] }) =>
      store.deleteRun(runId, { ...options, idempotency: await idempotentRequest(context) }),
    applyRetention: async ({ context, parameters: [policy] }) =>
      store.applyRetention(policy, { idempotency: await idempotentRequest(context) }),
  };
}

/** @throws AgentLightningError PERMISSION_DENIED for feedback of a restricted key on a rollout of a run, or as a reviewer */
async function assertProduction(store: SqlStore, { rolloutId, source }: FeedbackInput, role: string): Promise<void> {
  const { mode } = await store.getRollout(rolloutId);
  if (mode === 'production' && source !== 'reviewer') return;
  throw new AgentLightningError({
    code: 'PERMISSION_DENIED',
    message: `A key with the role ${role} may not record ${mode === 'production' ? 'reviews' : `feedback on rollout ${rolloutId}, which is not a trace of production`}`,
    remedy: 'Use a key with the role worker or trainer.',
    details: { rolloutId, role },
  });
}

function stateOfServer(runId: string): AgentLightningError {
  return new AgentLightningError({
    code: 'PERMISSION_DENIED',
    message: `The state of run ${runId} is written by the server that trains it`,
    remedy: 'Change the run with the routes of the server, /v1/server/runs.',
    details: { runId },
  });
}

type AnyOperation = (...parameters: readonly unknown[]) => Promise<object>;
type AnyCall = Omit<OperationCall<OperationName>, 'run'> & { readonly run: () => Promise<object> };
type AnyWrapper = (call: AnyCall) => Promise<unknown>;

/** The handlers of all operations, by name. */
export function operationHandlers(options: StoreRouteOptions): Readonly<Record<OperationName, RouteHandler>> {
  const { store, onFault } = options;
  // The types of the route table relate each route to the parameters and the result of its operation.
  const wrappers = wrappersOf(options) as Partial<Record<OperationName, AnyWrapper>>;
  const lists: Partial<Record<OperationName, PageReader>> = pageReaders(options);
  const routes = Object.entries(operationRoutes) as [OperationName, AnyRoute][];
  const handlerOf = (name: OperationName, route: AnyRoute): RouteHandler => {
    const list = lists[name];
    if (list !== undefined) return listHandler(route, list, onFault);
    return async (context) => {
      const parameters = await readParameters(context, route);
      const runOn = (target: object): Promise<object> =>
        (target as Record<OperationName, AnyOperation>)[name](...parameters);
      const run = (): Promise<object> =>
        route.idempotency === undefined ? runOn(store) : doOnce(context, store, runOn);
      const call = { context, parameters: parameters as AnyCall['parameters'], run };
      return outputResponse(context, route, await (wrappers[name]?.(call) ?? run()));
    };
  };
  return Object.fromEntries(routes.map(([name, route]) => [name, handlerOf(name, route)])) as Record<
    OperationName,
    RouteHandler
  >;
}

type AnyRoute = StoreRoute & { readonly isSpread?: boolean };

/** The parameters of an operation: the ids in the path, then the input. */
async function readParameters(context: Context, route: AnyRoute): Promise<readonly unknown[]> {
  const ids = idsOf(context, route);
  if (route.body === undefined && route.query === undefined) return ids;
  const input = await readInput(context, route);
  return [...ids, ...(route.isSpread === true ? (input as readonly unknown[]) : [input])];
}

type ListOperation =
  | 'queryRollouts'
  | 'queryAttempts'
  | 'queryWorkers'
  | 'queryResources'
  | 'querySpans'
  | 'queryRuns'
  | 'queryMetrics';
type PageReader = (...parameters: readonly never[]) => AsyncIterable<StreamedPage<unknown>>;

/** Readers of lists page by page. */
function pageReaders({ store }: StoreRouteOptions): Readonly<Record<ListOperation, PageReader>> {
  return {
    queryRollouts: (query: RolloutQuery) => store.streamRollouts(query),
    queryAttempts: (rolloutId: string, query: AttemptQuery) => store.streamAttempts(rolloutId, query),
    queryWorkers: (query: WorkerQuery) => store.streamWorkers(query),
    queryResources: (query: ResourcesQuery) => store.streamResources(query),
    querySpans: (query: SpanQuery) => store.streamSpans(query),
    queryRuns: (query: RunQuery) => store.streamRuns(query),
    queryMetrics: (runId: string, query: MetricQuery) => store.streamMetrics(runId, query),
  };
}

/** The handlers of lists whose filters are URL parameters. */
export function listHandlers(
  options: StoreRouteOptions,
): Pick<SpecialHandlers, 'listRollouts' | 'listAttempts' | 'listWorkers' | 'listSpans'> {
  const { queryRollouts, queryAttempts, queryWorkers, querySpans } = pageReaders(options);
  const { onFault } = options;
  return {
    listRollouts: listHandler(specialRoutes.listRollouts, queryRollouts, onFault),
    listAttempts: listHandler(specialRoutes.listAttempts, queryAttempts, onFault),
    listWorkers: listHandler(specialRoutes.listWorkers, queryWorkers, onFault),
    listSpans: listHandler(specialRoutes.listSpans, querySpans, onFault),
  };
}

function listHandler(route: StoreRoute, read: PageReader, onFault: (error: unknown) => void): RouteHandler {
  return async (context) => {
    const parameters = await readParameters(context, route);
    return listResponse(context, read(...(parameters as never[])), {
      toWire: (item) => route.item?.encode(item),
      onFault,
    });
  };
}

const route = specialRoutes.getResources;

/** Reads resources. In the protocol, missing ones are null. */
export function resourceHandlers({ store }: StoreRouteOptions): Pick<SpecialHandlers, 'getResources'> {
  return {
    getResources: async (context) => {
      const [resourcesId = ''] = idsOf(context, route);
      await assertOwnResources(context, store, resourcesId);
      const [snapshot = null] = (await store.queryResources({ resourcesId, limit: 1 })).items;
      return outputResponse(context, route, snapshot);
    },
  };
}
