import type { Rollout } from '@agentlightning/core';
import { isJsonObject, parse } from '@agentlightning/core/internal';
import type { AttemptClaims } from '@agentlightning/core/protocol';
import { type Context, Hono } from 'hono';
import { z } from 'zod';
import type { Caller } from '../access/access.ts';
import { AglServerError, errorResponse } from './agl-server-error.ts';
import type { AglEvents } from './events.ts';
import type { ProxyPause } from './proxy-pause.ts';
import type { RegisteredModels } from './registered-models.ts';
import { rolloutToWire, stateOf } from './rollout-section.ts';
import type { AglRollouts } from './rollouts.ts';
import type { TerminalLog } from './terminal-log.ts';
import { toTriplets, withoutRoutedExperts } from './triplet.ts';
import {
  wireEventCreateSchema,
  wireModelsSchema,
  wirePatchSchema,
  wirePauseSchema,
  wireRolloutCreatesSchema,
  wireStateSchema,
} from './wire.ts';

/** Dependencies of the 1.0 routes. */
export interface AglServerParts {
  readonly rollouts: AglRollouts;
  readonly events: AglEvents;
  readonly models: RegisteredModels;
  readonly log: TerminalLog;
  readonly pause: ProxyPause;
  /** Authenticates the caller. @throws AgentLightningError UNAUTHENTICATED, PERMISSION_DENIED */
  readonly callerOf: (headers: Headers) => Promise<Caller>;
}

const wholeNumber = z.coerce.number<string>().int();
const flag = z.stringbool();

/** The routes of Python's `agl-server`, without model calls. */
export function aglServerRoutes(parts: AglServerParts): Hono {
  const app = new Hono();
  app.onError(errorResponse);
  app.get('/healthz', (c) => c.json({ status: 'ok' }));
  for (const path of [
    '/api/rollouts',
    '/api/rollouts/*',
    '/api/models',
    '/proxy/pause',
    '/proxy/resume',
    '/proxy/state',
  ]) {
    app.use(path, async (c, next) => {
      await admit(parts, c);
      await next();
    });
  }
  addRolloutRoutes(app, parts);
  addEventRoutes(app, parts);
  addManagementRoutes(app, parts);
  return app;
}

function addRolloutRoutes(app: Hono, { rollouts, events, log }: AglServerParts): void {
  app.post('/api/rollouts', async (c) => {
    const created = await rollouts.create(await readBody(c, wireRolloutCreatesSchema));
    return c.json(created.map(rolloutToWire), 201);
  });
  app.get('/api/rollouts', async (c) => {
    const states = parse(z.array(wireStateSchema).min(1), c.req.queries('state_in') ?? [], 'state_in');
    const found = await rollouts.list(states, Math.max(0, numberParameter(c, 'limit', 500)));
    return c.json(found.map(rolloutToWire));
  });
  app.get('/api/rollouts/terminal', async (c) => {
    const after = Math.max(0, numberParameter(c, 'after', 0));
    const page = await log.read(after, Math.max(1, numberParameter(c, 'limit', 1000)));
    return c.json({ items: page.rollouts.map(terminalItem), next_after: page.nextAfter, total_terminal: page.total });
  });
  app.get('/api/rollouts/:rolloutId', async (c) => {
    const rolloutId = c.req.param('rolloutId');
    const rollout = await rollouts.get(rolloutId);
    return c.json({ rollout: rolloutToWire(rollout), attempts: await events.attemptNames(rollout) });
  });
  app.patch('/api/rollouts/:rolloutId', async (c) => {
    const { status } = await readBody(c, wirePatchSchema);
    return c.json(rolloutToWire(await rollouts.patch(c.req.param('rolloutId'), status ?? {})));
  });
  app.delete('/api/rollouts/:rolloutId', async (c) => {
    await rollouts.delete(c.req.param('rolloutId'));
    return c.body(null, 204);
  });
}

function addEventRoutes(app: Hono, parts: AglServerParts): void {
  app.get('/api/rollouts/:rolloutId/events', async (c) => {
    const type = c.req.query('event_type');
    const withRoutes = parse(flag, c.req.query('include_routed_experts') ?? 'true', 'include_routed_experts');
    const all = await parts.events.list(c.req.param('rolloutId'));
    const wanted = type === undefined ? all : all.filter((event) => event.event_type === type);
    const formed = c.req.query('format') === 'triplet' ? toTriplets(wanted) : wanted;
    return c.json(withRoutes ? formed : withoutRoutedExperts(formed));
  });
  app.post('/api/rollouts/:rolloutId/attempt/:attemptName/events', async (c) => {
    const { event_type: type, data } = await readBody(c, wireEventCreateSchema);
    const { rolloutId, attemptName } = c.req.param();
    const caller = await parts.callerOf(c.req.raw.headers);
    if (caller.kind === 'attempt') await assertAgentMayPost(parts.events, caller.claims, type);
    return c.json(await parts.events.add({ rolloutId, attemptName }, { type, data }));
  });
}

function addManagementRoutes(app: Hono, { models, pause }: AglServerParts): void {
  app.post('/api/models', async (c) => {
    const added = await readBody(c, wireModelsSchema);
    await models.add(added);
    return c.json(added, 201);
  });
  app.delete('/api/models', async (c) => {
    await models.clear();
    return c.json({ status: 'ok' });
  });
  app.post('/proxy/pause', async (c) => {
    const { retry_after_seconds: retryAfterSeconds, reason } = await readBody(c, wirePauseSchema);
    return c.json(pause.pause(retryAfterSeconds, reason));
  });
  app.post('/proxy/resume', (c) => c.json(pause.resume()));
  app.get('/proxy/state', (c) => c.json(pause.state()));
}

/** An attempt token admits to the events of that attempt only. */
async function admit({ callerOf }: AglServerParts, c: Context): Promise<void> {
  const caller = await callerOf(c.req.raw.headers);
  if (caller.kind === 'attempt') {
    const { rolloutId, attemptId } = caller.claims;
    const own = `/api/rollouts/${encodeURIComponent(rolloutId)}/attempt/${encodeURIComponent(attemptId)}/events`;
    if (c.req.method === 'POST' && c.req.path === own) return;
  } else if (caller.kind === 'admin' || caller.kind === 'open') return;
  throw notAllowed();
}

/** Model calls are recorded by the gateway, and rewards of a finished attempt are immutable. */
async function assertAgentMayPost(
  events: AglEvents,
  { rolloutId, attemptId, mayReward }: AttemptClaims,
  type: string,
): Promise<void> {
  if (type === 'model_request') {
    throw new AglServerError({
      code: 'PERMISSION_DENIED',
      httpStatus: 403,
      message: 'Events of type model_request are recorded by the gateway; an attempt token may not post them',
      remedy: 'Send the model call through the gateway.',
    });
  }
  if (type !== 'reward') return;
  if (!mayReward) throw notAllowed();
  const late = await events.lateReward(rolloutId, attemptId);
  if (late !== null) throw late;
}

function notAllowed(): AglServerError {
  return new AglServerError({
    code: 'PERMISSION_DENIED',
    httpStatus: 403,
    message: 'The key of the request has no permission for this route',
    remedy: 'Send the admin key.',
  });
}

async function readBody<TBody>(c: Context, schema: z.ZodType<TBody>): Promise<TBody> {
  return parse(schema, await c.req.json().catch(() => undefined), 'the body');
}

function numberParameter(c: Context, name: string, absent: number): number {
  const text = c.req.query(name);
  return text === undefined ? absent : parse(wholeNumber, text, name);
}

function terminalItem(rollout: Rollout): object {
  return {
    rollout_id: rollout.rolloutId,
    state: stateOf(rollout),
    data_id: dataIdOf(rollout),
    is_train: rollout.mode === null || rollout.mode === 'train',
  };
}

function dataIdOf({ input }: Rollout): string {
  if (!isJsonObject(input)) return '';
  return String(input.data_id || input.instance_id || '');
}
