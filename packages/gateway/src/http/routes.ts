import type { Hono } from 'hono';
import { CallSignal } from '../call-signal.ts';
import { GatewayError } from '../gateway-error.ts';
import { callUpstream } from '../upstream/call-upstream.ts';
import { addAdminRoutes } from './admin-routes.ts';
import { stateToWire } from './admin-wire.ts';
import { answerCall } from './answer-call.ts';
import { roots } from './attempt-address.ts';
import { limitedBody } from './body-limit.ts';
import { OwnConnection, respond, toResponse } from './call-answer.ts';
import { forwardedHeaders } from './forwarded-headers.ts';
import { modelApis, refusal } from './model-apis.ts';
import { requestIdHeader, requestIdOf } from './request-id.ts';
import type { GatewayContext, GatewayEnv, RouteOptions } from './route-options.ts';
import { RoutedCall } from './routed-call.ts';

/** Anthropic's clients add /v1 to their base URL, and that of an attempt ends with it already. */
const modelLists: readonly string[] = ['/models', '/v1/models'];

/** Adds what the gateway answers to an application. */
export function addRoutes(app: Hono<GatewayEnv>, options: RouteOptions): void {
  const { log, access } = options;
  app.use(async (c, next) => {
    c.set('requestId', requestIdOf(c.req.raw.headers));
    await next();
    c.res.headers.set(requestIdHeader, c.var.requestId);
  });
  app.get('/health', (c) => c.json({ status: 'ok', ...healthOf(options) }));
  app.use(async (c, next) => {
    c.set('caller', await access.callerOf(c.req.raw.headers));
    await next();
  });
  app.use(limitedBody(options.maxBodyBytes));
  const modelCalls = modelApis.flatMap((api) => {
    const answer = answerCall(options, api);
    const handle = async (c: GatewayContext): Promise<Response> =>
      respond(await answer(new RoutedCall(c)), OwnConnection.of(c.env));
    return [api.path, ...(api.otherPaths ?? [])].map((path) => ({ path, handle }));
  });
  for (const root of roots) {
    for (const { path, handle } of modelCalls) app.post(root + path, handle);
    for (const path of modelLists) {
      app.get(root + path, (c) => models(options, c, null));
      app.get(`${root + path}/:model`, (c) => models(options, c, c.req.param('model') ?? null));
    }
  }
  addAdminRoutes(app, options);
  app.notFound((c) => noSuchAddress(c).toResponse());
  app.onError((error, c) => {
    const known = GatewayError.from(error);
    if (known.code === 'INTERNAL') log.error({ requestId: c.var.requestId, err: error }, 'a request failed');
    return toResponse(refusal(c.req.path, known));
  });
}

/** The list of models, or one of them. */
async function models(
  { parts, forwardedNames }: RouteOptions,
  c: GatewayContext,
  model: string | null,
): Promise<Response> {
  // Such a name would be a step up in the upstream's addresses.
  if (model === '.' || model === '..') throw noSuchAddress(c);
  const { upstream, answer, text } = await callUpstream(parts.caller, parts.pool.choose(null, null), {
    path: model === null ? '/models' : `/models/${encodeURIComponent(model)}`,
    method: 'GET',
    headers: forwardedHeaders(c.req.raw.headers, { requestId: c.var.requestId, names: forwardedNames }),
    body: null,
    plainBody: null,
    signal: CallSignal.following(c.req.raw.signal),
    observation: null,
  });
  return toResponse({ status: answer.status, headers: answer.headers, body: upstream.withoutSecrets(text ?? '') });
}

/** Without ids and addresses: everybody may read it. */
function healthOf({ gate, parts }: RouteOptions): object {
  const upstreams = parts.pool.states().map(({ model, isUp, tokenIds }) => ({ model, up: isUp, token_ids: tokenIds }));
  return { ...stateToWire(gate.state()), upstreams };
}

function noSuchAddress(c: GatewayContext): GatewayError {
  return new GatewayError({
    code: 'NOT_FOUND',
    httpStatus: 404,
    type: 'invalid_request_error',
    message: `the gateway does not answer ${c.req.method} ${c.req.path}`,
    remedy: 'Use a base URL of the form …/rollout/{rolloutId}/attempt/{attemptId}/v1, or …/v1.',
  });
}
