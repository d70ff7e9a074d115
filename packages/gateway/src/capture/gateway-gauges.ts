import { Gauge, type Registry } from 'prom-client';
import type { GatewayState, UpstreamState } from '../wire/gateway-options.ts';

/** Values that are read when metrics are scraped. */
export interface GatewayGauges {
  readonly state: () => GatewayState;
  readonly upstreams: () => readonly UpstreamState[];
}

/** Registers the gauges. */
export function registerGauges(registry: Registry, { state, upstreams }: GatewayGauges): void {
  const gauge = (name: string, help: string, read: () => number): void => {
    new Gauge({
      name: `agl_gateway_${name}`,
      help,
      registers: [registry],
      collect() {
        this.set(read());
      },
    });
  };
  const perUpstream = (name: string, help: string, read: (upstream: UpstreamState) => number | null): void => {
    new Gauge({
      name: `agl_gateway_upstream_${name}`,
      help,
      labelNames: ['upstream'],
      registers: [registry],
      collect() {
        // Drops the series of removed upstreams.
        this.reset();
        for (const upstream of upstreams()) {
          const value = read(upstream);
          if (value !== null) this.set({ upstream: upstream.id }, value);
        }
      },
    });
  };
  gauge('calls_in_flight', 'Model calls in flight', () => state().inFlight);
  gauge('paused', 'Whether model calls are rejected', () => Number(state().isPaused));
  perUpstream('up', 'Whether an upstream works', ({ isUp }) => Number(isUp));
  perUpstream('in_flight', 'Calls in flight at an upstream', ({ inFlight }) => inFlight);
  perUpstream('queued', 'Calls in the queue of an upstream', ({ queued }) => queued);
  perUpstream('token_ids', 'Whether an upstream returns token ids; absent until its first response', ({ tokenIds }) =>
    tokenIds === 'unknown' ? null : Number(tokenIds === 'given'),
  );
}
