import { AgentLightningError } from '@agentlightning/core';
import { parse, parseJsonObject } from '@agentlightning/core/internal';
import type { Hono } from 'hono';
import type { z } from 'zod';
import { assertAdmin, assertRight } from '../access/access.ts';
import { GatewayError } from '../wire/gateway-error.ts';
import type { UpstreamState } from '../wire/gateway-options.ts';
import { requestText } from '../wire/request-body.ts';
import {
  pauseFromWire,
  stateToWire,
  upstreamFromWire,
  upstreamToWire,
  wirePauseSchema,
  wireUpstreamSchema,
} from './admin-wire.ts';
import type { GatewayContext, GatewayEnv, RouteOptions } from './route-options.ts';

/** Adds the admin routes: upstreams, pause and metrics. */
export function addAdminRoutes(app: Hono<GatewayEnv>, { services, gate, metrics }: RouteOptions): void {
  const { pool } = services;
  app.use('/admin/*', async (c, next) => {
    assertAdmin(c.var.caller);
    await next();
  });
  app.get('/admin/upstreams', (c) => c.json({ upstreams: pool.states().map(upstreamToWire) }));
  app.post('/admin/upstreams', async (c) => {
    const upstream = upstreamFromWire(await bodyOf(c, wireUpstreamSchema, 'upstream'));
    return c.json({ id: withBadRequest(() => pool.add(upstream)).id }, 201);
  });
  app.delete('/admin/upstreams', (c) => {
    const id = c.req.query('id') ?? '';
    if (!pool.remove(id)) throw noSuchUpstream(id, pool.states());
    return c.body(null, 204);
  });
  app.get('/admin/state', (c) =>
    c.json({ ...stateToWire(gate.state()), upstreams: pool.states().map(upstreamToWire) }),
  );
  app.post('/admin/pause', async (c) => {
    gate.pause(pauseFromWire(await bodyOf(c, wirePauseSchema, 'pause')));
    return c.json(stateToWire(gate.state()));
  });
  app.post('/admin/resume', (c) => {
    gate.resume();
    return c.json(stateToWire(gate.state()));
  });
  app.get('/metrics', async (c) => {
    assertRight(c.var.caller, 'work:read');
    const { body, contentType } = await metrics.text();
    return c.body(body, 200, { 'content-type': contentType });
  });
}

async function bodyOf<TBody>(c: GatewayContext, schema: z.ZodType<TBody>, what: string): Promise<TBody> {
  const text = await requestText(c);
  return withBadRequest(() => parse(schema, text === '' ? {} : (parseJsonObject(text) ?? text), what));
}

/** A configuration error in the request is the client's: 400. */
function withBadRequest<TResult>(act: () => TResult): TResult {
  try {
    return act();
  } catch (error) {
    if (!AgentLightningError.isInstance(error) || error instanceof GatewayError) throw error;
    throw new GatewayError({
      code: error.code,
      httpStatus: 400,
      type: 'invalid_request_error',
      message: error.message.replace(/^\[\w+\] /, ''),
      remedy: error.remedy,
      cause: error,
    });
  }
}

function noSuchUpstream(id: string, known: readonly UpstreamState[]): GatewayError {
  return new GatewayError({
    code: 'NOT_FOUND',
    httpStatus: 404,
    type: 'invalid_request_error',
    message: `no upstream has the id ${JSON.stringify(id)}`,
    remedy: `Name one as ?id=…: ${known.map((upstream) => upstream.id).join(', ') || 'none is registered'}.`,
  });
}
