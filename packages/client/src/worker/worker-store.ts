import {
  type Attempt,
  type AttemptedRollout,
  NotFoundError,
  type Rollout,
  type Span,
  type SpanInput,
} from '@agentlightning/core';
import type { AttemptTokenRequest } from '@agentlightning/core/protocol';
import type { ResourcesSnapshot } from '@agentlightning/core/store';
import type { RunnerStore } from '@agentlightning/runner';
import { listOf, numberOf, recordOf, textOf, type WireRecord } from '../json.ts';
import type { ServerTransport } from '../server-transport.ts';
import { snapshotOf } from './wire-resources.ts';
import { attemptedRolloutOf, attemptOf, rolloutOf } from './wire-rollout.ts';
import { spanOf, spanToWire } from './wire-span.ts';

/** Proxies close connections that are idle for longer, in milliseconds. */
const maxWaitMs = 20_000;

/**
 * The operations of a store that a runner uses, over HTTP. Unlike `StoreClient` of core it has no schemas, which are most of
 * the size of that client; the server is one of this project.
 */
export class WorkerStore implements Required<RunnerStore> {
  readonly #transport: ServerTransport;

  constructor(transport: ServerTransport) {
    this.#transport = transport;
  }

  claimRollouts: RunnerStore['claimRollouts'] = async (options = {}): Promise<readonly AttemptedRollout[]> => {
    const { limit = 1, workerId = null, runId, waitMs: wantedMs = 0, signal } = options;
    const waitMs = Math.min(wantedMs, maxWaitMs);
    const body = { limit, worker_id: workerId, run_id: runId, wait_seconds: waitMs / 1000 };
    try {
      const claimed = await this.#post('/queues/rollouts/dequeue', body, { waitMs, signal });
      return listOf(claimed, 'claimed rollouts').map((item) => attemptedRolloutOf(recordOf(item, 'a rollout')));
    } catch (error) {
      if (signal?.aborted) return [];
      throw error;
    }
  };

  getRollout: RunnerStore['getRollout'] = async (rolloutId): Promise<Rollout | AttemptedRollout> =>
    rolloutOf(recordOf(await this.#get(`/rollouts/${id(rolloutId)}`), 'the rollout'));

  updateRollout: RunnerStore['updateRollout'] = async (rolloutId, { status, metadata }): Promise<Rollout> =>
    rolloutOf(recordOf(await this.#post(`/rollouts/${id(rolloutId)}`, { status, metadata }), 'the rollout'));

  getLatestAttempt: RunnerStore['getLatestAttempt'] = async (rolloutId): Promise<Attempt | null> => {
    const attempt = await this.#get(`/rollouts/${id(rolloutId)}/attempts/latest`);
    return attempt === null ? null : attemptOf(recordOf(attempt, 'the attempt'));
  };

  updateAttempt: RunnerStore['updateAttempt'] = async (rolloutId, attemptId, patch): Promise<Attempt> => {
    const { status, workerId, lastHeartbeatTimeMs, metadata } = patch;
    const body = {
      status,
      worker_id: workerId,
      last_heartbeat_time: lastHeartbeatTimeMs === undefined ? undefined : lastHeartbeatTimeMs / 1000,
      metadata,
    };
    return attemptOf(recordOf(await this.#post(attemptPath(rolloutId, attemptId), body), 'the attempt'));
  };

  getResources: RunnerStore['getResources'] = async (resourcesId): Promise<ResourcesSnapshot> => {
    const snapshot = await this.#get(`/resources/${id(resourcesId)}`);
    if (snapshot === null) throw new NotFoundError('Resources', resourcesId);
    return snapshotOf(recordOf(snapshot, 'resources'));
  };

  getLatestResources: RunnerStore['getLatestResources'] = async (): Promise<ResourcesSnapshot | null> => {
    const snapshot = await this.#get('/resources/latest');
    return snapshot === null ? null : snapshotOf(recordOf(snapshot, 'resources'));
  };

  querySpans: RunnerStore['querySpans'] = async (query) => {
    const { rolloutId, attemptId, name, limit, offset } = query;
    const body = { rollout_id: rolloutId, attempt_id: attemptId, name, limit, offset };
    const page = recordOf(await this.#post('/spans/search', body), 'spans');
    return {
      items: listOf(page['items'], 'items').map((item) => spanOf(recordOf(item, 'a span'))),
      limit: numberOf(page, 'limit'),
      offset: numberOf(page, 'offset'),
      total: numberOf(page, 'total'),
    };
  };

  appendSpans: RunnerStore['appendSpans'] = async (spans: readonly SpanInput[]): Promise<readonly (Span | null)[]> => {
    if (spans.length === 0) return [];
    const response = recordOf(await this.#post('/spans/batch', { spans: spans.map(spanToWire) }), 'recorded spans');
    const sequenceIds = listOf(response['sequence_ids'], 'sequence_ids');
    return spans.map((span, index) => {
      const sequenceId = sequenceIds[index];
      return typeof sequenceId === 'number' ? { ...span, sequenceId } : null;
    });
  };

  updateWorker: Required<RunnerStore>['updateWorker'] = async (workerId, statistics) => {
    await this.#post(`/workers/${id(workerId)}`, { heartbeat_stats: statistics });
    return {
      workerId,
      status: 'unknown',
      heartbeatStats: statistics ?? null,
      lastHeartbeatTimeMs: null,
      lastDequeueTimeMs: null,
      lastBusyTimeMs: null,
      lastIdleTimeMs: null,
      currentRolloutId: null,
      currentAttemptId: null,
    };
  };

  /** Creates the token of an attempt, which the agent sends to the gateway. */
  async createAttemptToken({ rolloutId, attemptId, mayReward, lifetimeMs }: AttemptTokenRequest): Promise<string> {
    const body = {
      may_reward: mayReward,
      lifetime_seconds: lifetimeMs === undefined ? undefined : lifetimeMs / 1000,
    };
    return textOf(recordOf(await this.#post(`${attemptPath(rolloutId, attemptId)}/token`, body), 'the token'), 'token');
  }

  #get(path: string): Promise<unknown> {
    return this.#transport.send(`/v1/agl${path}`);
  }

  #post(
    path: string,
    body: WireRecord,
    options: { readonly waitMs?: number; readonly signal?: AbortSignal | undefined } = {},
  ): Promise<unknown> {
    return this.#transport.send(`/v1/agl${path}`, { method: 'POST', body, ...options });
  }
}

function attemptPath(rolloutId: string, attemptId: string): string {
  return `/rollouts/${id(rolloutId)}/attempts/${id(attemptId)}`;
}

function id(value: string): string {
  return encodeURIComponent(value);
}
