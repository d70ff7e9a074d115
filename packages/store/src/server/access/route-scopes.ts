import type { AccessScope } from '../../access/access-key.ts';

/**
 * The scope that a route requires, in ascending order: `agent` is an attempt token or any key. Routes restrict attempt
 * tokens to their attempt.
 */
export type RouteScope = 'anyone' | 'agent' | AccessScope;

const base = '/v1/agl';
const rollout = `${base}/rollouts/:rolloutId`;
const attempts = `${rollout}/attempts`;

/** The required scope of every route, by method and pattern. */
export const routeScopes: Readonly<Record<string, RouteScope>> = {
  'GET /metrics': 'runner',
  [`GET ${base}/health`]: 'anyone',
  [`GET ${base}/openapi.json`]: 'runner',
  [`GET ${base}/statistics`]: 'trainer',

  [`POST ${base}/queues/rollouts/enqueue`]: 'trainer',
  [`POST ${base}/queues/rollouts/dequeue`]: 'runner',
  // Starts a rollout without the queue: runners for a single task, gateways for calls without a rollout.
  [`POST ${base}/rollouts`]: 'runner',
  [`GET ${base}/rollouts`]: 'trainer',
  [`POST ${base}/rollouts/search`]: 'trainer',
  [`GET ${rollout}`]: 'agent',
  // Runners return rollouts to the queue.
  [`POST ${rollout}`]: 'runner',
  [`POST ${attempts}`]: 'trainer',
  [`GET ${attempts}`]: 'runner',
  [`POST ${attempts}/search`]: 'runner',
  [`GET ${attempts}/latest`]: 'agent',
  [`POST ${attempts}/:attemptId`]: 'runner',
  [`POST ${attempts}/:attemptId/token`]: 'runner',

  [`GET ${base}/revocations/tokens`]: 'runner',
  [`POST ${base}/revocations/tokens`]: 'runner',

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
