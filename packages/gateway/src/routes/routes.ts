import type { JsonObject } from '@agentlightning/core';
import { parseJsonObject } from '@agentlightning/core/internal';
import { headerNames, requestIdFrom } from '@agentlightning/core/protocol';
import type { Hono } from 'hono';
import { z } from 'zod';
import { assertRight } from '../access/access.ts';
import { roots } from '../access/attempt-address.ts';
import { callWithFailover } from '../upstream/call-with-failover.ts';
import { toResponse } from '../wire/call-response.ts';
import { forwardedHeaders } from '../wire/forwarded-headers.ts';
import { GatewayError } from '../wire/gateway-error.ts';
import { numberOf, objectsOf, textOf } from '../wire/json-access.ts';
import { limitedBody } from '../wire/request-body.ts';
import { addAdminRoutes } from './admin-routes.ts';
import { stateToWire } from './admin-wire.ts';
import { errorResponse, modelCallHandler, modelCallRoutes } from './handle-model-call.ts';
import type { GatewayContext, GatewayEnv, RouteOptions } from './route-options.ts';

/** Anthropic's clients append /v1 to a base URL that already ends with it. */
const modelLists: readonly string[] = ['/models', '/v1/models'];

/** Adds the routes of the gateway to an application. */
export function addRoutes(app: Hono<GatewayEnv>, options: RouteOptions): void {
  const { log, access } = options;
  app.use(async (c, next) => {
    c.set('requestId', requestIdFrom(c.req.raw.headers.get(headerNames.requestId)));
    await next();
    c.res.headers.set(headerNames.requestId, c.var.requestId);
  });
  app.get('/health', (c) => c.json({ status: 'ok', ...healthOf(options) }));
  app.use(async (c, next) => {
    c.set('caller', await access.callerOf(c.req.raw.headers));
    // Keys for traces and feedback may do nothing here.
    assertRight(c.var.caller, 'attempt:read');
    await next();
  });
  app.use(limitedBody(options.maxBodyBytes));
  const modelCalls = modelCallRoutes.flatMap((route) => {
    const call = modelCallHandler(options, route);
    const handle = (c: GatewayContext): Promise<Response> => {
      assertRight(c.var.caller, 'attempt:write');
      return call(c);
    };
    return [route.path, ...(route.otherPaths ?? [])].map((path) => ({ path, handle }));
  });
  for (const root of roots) {
    for (const { path, handle } of modelCalls) app.post(root + path, handle);
    // Clients that prefer a WebSocket, such as Codex, call over HTTP at once after this status.
    app.get(`${root}/responses`, (c) => {
      throw c.req.header('upgrade') === undefined ? noSuchRoute(c) : noWebSocket();
    });
    for (const path of modelLists) {
      app.get(root + path, (c) => models(options, c, null));
      app.get(`${root + path}/:model`, (c) => models(options, c, c.req.param('model') ?? null));
    }
  }
  addAdminRoutes(app, options);
  app.notFound((c) => noSuchRoute(c).toResponse());
  app.onError((error, c) => {
    const known = GatewayError.from(error);
    if (known.code === 'INTERNAL') log.error({ requestId: c.var.requestId, err: error }, 'a request failed');
    return toResponse(errorResponse(c.req.path, known));
  });
}

/** The list of models, or one model. Other models of an upstream that serves several clients are left out. */
async function models(
  { services, forwardedNames }: RouteOptions,
  c: GatewayContext,
  model: string | null,
): Promise<Response> {
  // Path segments that would leave the upstream's `/models`.
  if (model === '.' || model === '..') throw noSuchRoute(c);
  const { deployments } = services;
  if (deployments !== null) return deployedModels(c, deployments.names(), model);
  const registered = services.pool.models();
  if (model !== null && registered !== null && !registered.includes(model)) throw noSuchModel(model);
  const { upstream, response, text } = await callWithFailover(
    services.upstreamServices,
    services.pool.choose(null, null),
    {
      path: model === null ? '/models' : `/models/${encodeURIComponent(model)}`,
      method: 'GET',
      headers: forwardedHeaders(c.req.raw.headers, { requestId: c.var.requestId, names: forwardedNames }),
      body: null,
      adapted: null,
      signal: c.req.raw.signal,
      isStreamed: false,
      isStreamable: false,
      observation: null,
    },
  );
  const body = upstream.withoutSecrets(text ?? '');
  const isList = model === null && registered !== null;
  const listed = isList ? withModels(body, registered) : body;
  const isAnthropic = c.req.header('anthropic-version') !== undefined && response.status < 300;
  const translated = isAnthropic ? anthropicModels(parseJsonObject(listed) ?? {}) : null;
  const { status, headers } = response;
  return toResponse({ status, headers, body: translated === null ? listed : JSON.stringify(translated) });
}

/** The deployments, as models. */
function deployedModels(c: GatewayContext, names: readonly string[], model: string | null): Response {
  if (model !== null && !names.includes(model)) throw noSuchModel(model);
  const data = names.map((id) => ({ id, object: 'model', created: 0, owned_by: 'agentlightning' }));
  const body = model === null ? { object: 'list', data } : data.find(({ id }) => id === model);
  return c.json(
    c.req.header('anthropic-version') === undefined
      ? body
      : anthropicModels(parseJsonObject(JSON.stringify(body)) ?? {}),
  );
}

/** A list of models without those that are not registered; another response unchanged. */
function withModels(body: string, registered: readonly string[]): string {
  const list = parsedList(body);
  if (list === null) return body;
  return JSON.stringify({ ...list, data: list.data.filter(({ id }) => registered.includes(id)) });
}

const modelListSchema = z.looseObject({ data: z.array(z.looseObject({ id: z.string() })) });

function parsedList(body: string): z.output<typeof modelListSchema> | null {
  try {
    return modelListSchema.safeParse(JSON.parse(body)).data ?? null;
  } catch {
    return null;
  }
}

function noSuchModel(model: string): GatewayError {
  return new GatewayError({
    code: 'NOT_FOUND',
    httpStatus: 404,
    type: 'invalid_request_error',
    message: `no model ${model}`,
    remedy: 'GET …/v1/models lists the models.',
  });
}

/** A list of models, or one model, as Anthropic's clients read it; null for one that has this form. */
function anthropicModels(body: JsonObject): JsonObject | null {
  if (body.has_more !== undefined || body.type === 'model') return null;
  if (!Array.isArray(body.data)) return anthropicModel(body);
  const data = objectsOf(body.data).map(anthropicModel);
  return { data, has_more: false, first_id: data[0]?.id ?? null, last_id: data.at(-1)?.id ?? null };
}

function anthropicModel({ id, created }: JsonObject): JsonObject {
  const name = textOf(id) ?? '';
  // The largest time of a date.
  const createdMs = Math.min((numberOf(created) ?? 0) * 1000, 8.64e15);
  return { type: 'model', id: name, display_name: name, created_at: new Date(createdMs).toISOString() };
}

/** Public, therefore without ids and addresses. */
function healthOf({ gate, services }: RouteOptions): object {
  const upstreams = services.pool.states().map(({ model, isUp, tokenIds, keyRejections }) => ({
    model,
    up: isUp,
    token_ids: tokenIds,
    key_rejections: keyRejections,
  }));
  return { ...stateToWire(gate.state()), upstreams };
}

function noWebSocket(): GatewayError {
  return new GatewayError({
    code: 'VALIDATION',
    httpStatus: 426,
    type: 'invalid_request_error',
    message: 'WebSocket connections are not supported',
    remedy: 'Send POST requests.',
  });
}

function noSuchRoute(c: GatewayContext): GatewayError {
  return new GatewayError({
    code: 'NOT_FOUND',
    httpStatus: 404,
    type: 'invalid_request_error',
    message: `no route for ${c.req.method} ${c.req.path}`,
    remedy: 'Use a base URL of the form …/rollout/{rolloutId}/attempt/{attemptId}/v1, or …/v1.',
  });
}
