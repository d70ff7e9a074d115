import { randomUUID } from 'node:crypto';
import { hostname } from 'node:os';
import type { JsonObject, Store } from '@agentlightning/core';
import { addressText, systemClock } from '@agentlightning/core/internal';
import type { ServedGateway } from '@agentlightning/gateway';
import { Registration } from '@agentlightning/runner/internal';
import { packageVersion } from '../events/package-version.ts';

/** Heartbeat timeout after which the store considers a gateway lost, in milliseconds. */
const leaseMs = 8000;

/** Options of {@link registerGateway}. */
export interface GatewayRegistration {
  readonly store: Pick<Store, 'updateWorker'>;
  /** The run that it serves; null for any run. */
  readonly runId: string | null;
  /** Called with the first of consecutive failures. @default failures are ignored: the gateway works without a record */
  readonly onError?: (error: unknown) => void;
}

/**
 * Records the load of a gateway and the state of its upstreams as a worker of the store, which the dashboard shows.
 *
 * @returns a function that ends the record
 */
export function registerGateway(
  gateway: Pick<ServedGateway, 'upstreams' | 'state' | 'url'>,
  { store, runId, onError = () => undefined }: GatewayRegistration,
): () => Promise<void> {
  const registration = new Registration({
    store,
    workerId: `gateway-${randomUUID()}`,
    leaseMs,
    clock: systemClock,
    onError,
    statistics: () => ({ ...gatewayStatistics(gateway), run_id: runId }),
  });
  return async () => {
    await registration.end().catch(onError);
  };
}

function gatewayStatistics({ upstreams, state, url }: Pick<ServedGateway, 'upstreams' | 'state' | 'url'>): JsonObject {
  const { inFlight, isPaused } = state();
  return {
    kind: 'gateway',
    version: packageVersion(),
    host: hostname(),
    pid: process.pid,
    url,
    in_flight: inFlight,
    is_paused: isPaused,
    upstreams: upstreams().map((upstream) => ({
      id: addressText(upstream.id),
      base_url: addressText(upstream.baseUrl),
      model: upstream.model,
      up: upstream.isUp,
      in_flight: upstream.inFlight,
      queued: upstream.queued,
      token_ids: upstream.tokenIds,
      last_failure: upstream.lastFailure,
    })),
  };
}
