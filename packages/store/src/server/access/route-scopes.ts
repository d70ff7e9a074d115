import type { AccessScope } from '../../access/access-key.ts';

/**
 * What a request needs to carry for a route, from nothing to the most: `agent` is a token of an attempt, or any key.
 * What a token opens, its routes narrow down to the attempt.
 */
export type RouteScope = 'anyone' | 'agent' | AccessScope;

const base = '/v1/agl';
const rollout = `${base}/rollouts/:rolloutId`;
const attempts = `${rollout}/attempts`;

/** Who may call which route: every route there is, as the router has it. */
export const routeScopes: Readonly<Record<string, RouteScope>> = {
  'GET /metrics': 'runner',
  [`GET ${base}/health`]: 'anyone',
  [`GET ${base}/openapi.json`]: 'runner',
  [`GET ${base}/statistics`]: 'trainer',

  [`POST ${base}/queues/rollouts/enqueue`]: 'trainer',
  [`POST ${base}/queues/rollouts/dequeue`]: 'runner',
  // Past the queue, as a runner does that tries one task, and a gateway for calls of no rollout.
  [`POST ${base}/rollouts`]: 'runner',
  [`GET ${base}/rollouts`]: 'trainer',
  [`POST ${base}/rollouts/search`]: 'trainer',
  [`GET ${rollout}`]: 'agent',
  // Runners give rollouts back to the queue.
  [`POST ${rollout}`]: 'runner',
  [`POST ${attempts}`]: 'trainer',
  [`GET ${attempts}`]: 'runner',
  [`POST ${attempts}/search`]: 'runner',
  [`GET ${attempts}/latest`]: 'agent',
  [`POST ${attempts}/:attemptId`]: 'runner',
  [`POST ${attempts}/:attemptId/token`]: 'runner',

  [`GET ${base}/workers`]: 'trainer',
  [`POST ${base}/workers/search`]: 'trainer',
  [`GET ${base}/workers/:workerId`]: 'runner',
  [`POST ${base}/workers/:workerId`]: 'runner',

  [`GET ${base}/resources`]: 'runner',
  [`POST ${base}/resources`]: 'trainer',
  [`GET ${base}/resources/latest`]: 'runner',
  [`GET ${base}/resources/:resourcesId`]: 'agent',
  [`POST ${base}/resources/:resourcesId`]: 'trainer',

  [`POST ${base}/spans`]: 'agent',
  [`POST ${base}/spans/batch`]: 'agent',
  [`GET ${base}/spans`]: 'runner',
  [`POST ${base}/spans/search`]: 'runner',
  [`POST ${base}/spans/next`]: 'agent',
  [`POST ${base}/spans/next/batch`]: 'agent',
  [`POST ${base}/searches/spans`]: 'trainer',
  'POST /v1/traces': 'agent',
  'POST /v1/metrics': 'agent',
  'POST /v1/logs': 'agent',
  'POST /v1/development/profiles': 'agent',

  [`POST ${base}/waits/rollouts`]: 'trainer',
  [`GET ${base}/events`]: 'trainer',

  [`GET ${base}/runs`]: 'trainer',
  [`POST ${base}/runs`]: 'trainer',
  [`GET ${base}/runs/:runId`]: 'trainer',
  [`POST ${base}/runs/:runId`]: 'trainer',
  [`GET ${base}/runs/:runId/metrics`]: 'trainer',
  [`GET ${base}/runs/:runId/statistics`]: 'trainer',
  [`GET ${base}/runs/:runId/archive`]: 'admin',
  [`POST ${base}/archives/runs`]: 'admin',
  [`POST ${base}/deletions/rollouts`]: 'admin',
  [`POST ${base}/deletions/runs`]: 'admin',
  [`POST ${base}/deletions/retention`]: 'admin',
  [`POST ${base}/deletions/retention/preview`]: 'trainer',
};
