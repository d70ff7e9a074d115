import { AgentLightningError, type JsonObject, type JsonValue, type Run } from '@agentlightning/core';
import {
  type AccessRight,
  type DataSetState,
  errorCodec,
  httpStatusOf,
  type RunEvent,
  resumeRunRequestSchema,
  type ServerRoutes,
  type StoreRoute,
  serverRoutes,
  unfinishedRunStatuses,
} from '@agentlightning/core/protocol';
import { parseSettings } from '@agentlightning/core/settings';
import type { StoreHandler } from '@agentlightning/store';
import { type Context, Hono } from 'hono';
import { bodyLimit } from 'hono/body-limit';
import { streamSSE } from 'hono/streaming';
import type { ContentfulStatusCode } from 'hono/utils/http-status';
import { type DataSets, maxDataSetBytes } from './data-sets.ts';
import type { RunQueue } from './run-queue.ts';
import type { ServerApi } from './server-api.ts';

/** The version of the routes below `/v1/server`. A client requires at least the version that it was made for. */
export const serverProtocol = 1;

/** The largest part of a data set in bytes. */
const maxPartBytes = 16 * 1024 * 1024;

/** The largest other body in bytes. */
const maxRequestBytes = 256 * 1024;

/** The most open event streams of a project. */
const maxStreams = 200;

/** The most runs of a list. */
const maxListedRuns = 200;

/** The interval of comments in idle event streams, in milliseconds. */
const heartbeatMs = 15_000;

/** Options of {@link createServerApp}. */
export interface ServerAppOptions {
  readonly api: ServerApi;
  readonly queue: RunQueue;
  readonly dataSets: DataSets;
  /** What the server is, for clients. */
  readonly description: JsonObject;
  /** Whether the server is ready, for probes. */
  readonly isReady: () => boolean;
  /** The services that are down; the others serve requests. */
  readonly down: () => readonly string[];
  readonly authorize: StoreHandler['authorize'];
  readonly closing: AbortSignal;
  readonly onFault: (error: unknown) => void;
}

/** Counts the open event streams of a project. */
class OpenStreams {
  #open = 0;

  /** @returns ends the stream @throws AgentLightningError RESOURCE_EXHAUSTED */
  begin(): () => void {
    if (this.#open >= maxStreams) throw tooManyStreams();
    this.#open += 1;
    let isOpen = true;
    return () => {
      if (isOpen) this.#open -= 1;
      isOpen = false;
    };
  }
}

type RouteOptions = ServerAppOptions & { readonly streams: OpenStreams };

type Respond = (context: Context, options: RouteOptions) => Response | Promise<Response>;

/** The responses of the routes of the server. */
const responses: Readonly<Record<keyof ServerRoutes, Respond>> = {
  describe: (context, { description }) => context.json(description),
  getDataSet: async (context, { dataSets }) =>
    respond(context, serverRoutes.getDataSet, dataSetState(await dataSets.state(param(context, 'digest')))),
  appendToDataSet,
  listRuns: async (context, { api }) => {
    const limit =
      context.req.query('limit') === undefined ? maxListedRuns : wholeNumber(context, 'limit', maxListedRuns);
    const offset = context.req.query('offset') === undefined ? 0 : wholeNumber(context, 'offset');
    return respond(context, serverRoutes.listRuns, await api.list({ limit, offset }));
  },
  createRun: async (context, { api }) =>
    respond(context, serverRoutes.createRun, await api.create(await jsonBody(context))),
  getRun: async (context, { api }) => respond(context, serverRoutes.getRun, await api.view(param(context, 'runId'))),
  stopRun: async (context, { api }) => respond(context, serverRoutes.stopRun, await api.stop(param(context, 'runId'))),
  resumeRun: async (context, { api }) => {
    const changes = parseSettings(resumeRunRequestSchema, await jsonBody(context), { what: 'the changes of the run' });
    return respond(context, serverRoutes.resumeRun, await api.resume(param(context, 'runId'), changes));
  },
  serveModel: async (context, { api }) =>
    respond(context, serverRoutes.serveModel, await api.serve(param(context, 'runId'))),
  streamEvents,
};

function respond<TOutput>(
  context: Context,
  route: Pick<StoreRoute<never, TOutput>, 'response' | 'status'>,
  value: TOutput,
): Response {
  return context.json(route.response?.encode(value) as JsonValue, route.status ?? 200);
}

/** Creates the application of the server. */
export function createServerApp(options: ServerAppOptions): Hono {
  const { authorize, onFault } = options;
  const app = new Hono();
  const routeOptions = { ...options, streams: new OpenStreams() };
  app.onError((error, context) => errorResponse(context, error, onFault));
  for (const path of ['/healthz', '/health']) {
    app.get(path, (context) => {
      if (!options.isReady()) return context.json({ status: 'stopping' }, 503);
      const down = options.down();
      return context.json(down.length === 0 ? { status: 'ok' } : { status: 'degraded', down });
    });
  }
  for (const name of Object.keys(responses) as (keyof ServerRoutes)[]) {
    const { method, path, right } = serverRoutes[name];
    const maxSize = method === 'PUT' ? maxPartBytes : maxRequestBytes;
    const limit = bodyLimit({ maxSize, onError: () => rejectBody(maxSize) });
    app.on(method, path, requires(right), limit, (context) => responses[name](context, routeOptions));
  }
  app.all('*', requires('work:read'), (context) => {
    const error = new AgentLightningError({ code: 'NOT_FOUND', message: `no route ${context.req.path}` });
    return errorResponse(context, error, onFault);
  });
  return app;

  function requires(right: AccessRight) {
    return async (context: Context, next: () => Promise<void>): Promise<void> => {
      const { method, path } = context.req;
      await authorize({ authorization: context.req.header('authorization'), right, action: `${method} ${path}` });
      await next();
    };
  }
}

async function appendToDataSet(context: Context, { dataSets }: ServerAppOptions): Promise<Response> {
  const part = {
    offset: wholeNumber(context, 'offset'),
    totalBytes: wholeNumber(context, 'total_bytes', maxDataSetBytes),
    content: context.req.raw.body ?? [],
  };
  const state = dataSetState(await dataSets.append(param(context, 'digest'), part));
  return respond(context, serverRoutes.appendToDataSet, state);
}

/** The events of a run after `last-event-id`, until the run has ended. */
async function streamEvents(context: Context, { api, queue, streams, closing }: RouteOptions): Promise<Response> {
  const runId = param(context, 'runId');
  await api.find(runId);
  const log = queue.log(runId);
  const isUnfinished = ({ status }: Run): boolean => unfinishedRunStatuses.includes(status);
  const close = streams.begin();
  return streamSSE(context, async (stream) => {
    const gone = new AbortController();
    stream.onAbort(() => {
      gone.abort();
      close();
    });
    const last = Number(context.req.header('last-event-id') ?? context.req.query('after') ?? 0) || 0;
    const reader = log.reader(last);
    while (!gone.signal.aborted && !closing.aborted) {
      // Before the events: an event that follows the last check wakes this reader.
      const woken = log.next(AbortSignal.any([gone.signal, closing, AbortSignal.timeout(heartbeatMs)]));
      const isEnding = !queue.isActive(runId);
      const { run } = await api.find(runId);
      for await (const { number, event } of reader.read()) {
        await stream.writeSSE({ id: String(number), event: event.type, data: JSON.stringify(event) });
      }
      if (isEnding && !isUnfinished(run)) {
        await stream.writeSSE({
          event: 'end',
          data: JSON.stringify({ type: 'end', status: run.status } satisfies RunEvent),
        });
        break;
      }
      await woken;
      // A comment: a client that is gone closes the stream.
      await stream.write(': \n\n');
    }
    close();
  });
}

function tooManyStreams(): AgentLightningError {
  return new AgentLightningError({
    code: 'RESOURCE_EXHAUSTED',
    message: `the project has ${maxStreams} open event streams`,
    remedy: 'Close some of them, or retry later.',
  });
}

function rejectBody(maxBytes: number): never {
  throw new AgentLightningError({
    code: 'PAYLOAD_TOO_LARGE',
    message: `the body of the request exceeds ${maxBytes} bytes`,
    remedy: 'Send a smaller request; a data set in several parts.',
  });
}

function param(context: Context, name: string): string {
  return context.req.param(name) ?? '';
}

function dataSetState({ bytes, isComplete }: Awaited<ReturnType<DataSets['state']>>): DataSetState {
  return { offset: bytes, isComplete };
}

async function jsonBody(context: Context): Promise<Readonly<Record<string, unknown>>> {
  try {
    const text = await context.req.text();
    const value: unknown = text === '' ? {} : JSON.parse(text);
    if (typeof value === 'object' && value !== null) return value as Readonly<Record<string, unknown>>;
  } catch {
    // Reported below.
  }
  throw new AgentLightningError({ code: 'VALIDATION', message: 'the body of the request is not a JSON object' });
}

function wholeNumber(context: Context, name: string, max = maxDataSetBytes): number {
  const text = context.req.query(name) ?? '';
  const value = Number(text);
  if (text !== '' && Number.isSafeInteger(value) && value >= 0 && value <= max) return value;
  throw new AgentLightningError({
    code: 'VALIDATION',
    message: `the parameter ${name} is "${text}"`,
    remedy: `Send a whole number from 0 to ${max}.`,
  });
}

/** Errors of the request, which have status 500 in a store. */
const requestErrors: ReadonlySet<string> = new Set(['CONFIG', 'TASK_FILE']);

function errorResponse(context: Context, error: unknown, onFault: (error: unknown) => void): Response {
  const isKnown = AgentLightningError.isInstance(error);
  if (!isKnown) onFault(error);
  const known = isKnown
    ? error
    : new AgentLightningError({ code: 'INTERNAL', message: 'Internal error', cause: error });
  const status = requestErrors.has(known.code) ? 400 : httpStatusOf(known.code);
  return context.json(errorCodec.encode(known), status as ContentfulStatusCode);
}
