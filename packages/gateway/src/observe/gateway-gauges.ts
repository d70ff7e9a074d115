import { Gauge, type Registry } from 'prom-client';
import type { GatewayState, UpstreamState } from '../gateway-options.ts';

/** What is counted when it is asked for, rather than as it happens. */
export interface GatewayGauges {
  readonly state: () => GatewayState;
  readonly upstreams: () => readonly UpstreamState[];
}

/** Adds what can be read off at any time. */
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
        // Those that were removed are told of no more.
        this.reset();
        for (const upstream of upstreams()) {
          const value = read(upstream);
          if (value !== null) this.set({ upstream: upstream.id }, value);
        }
      },
    });
  };
  gauge('calls_in_flight', 'Model calls that were let in and have not left', () => state().inFlight);
  gauge('paused', 'Whether model calls are turned away', () => Number(state().isPaused));
  perUpstream('up', 'Whether an upstream works', ({ isUp }) => Number(isUp));
  perUpstream('in_flight', 'Calls that an upstream is answering', ({ inFlight }) => inFlight);
  perUpstream('queued', 'Calls that wait in line for an upstream', ({ queued }) => queued);
  perUpstream('token_ids', 'Whether an upstream gives token ids; absent until its first answer', ({ tokenIds }) =>
    tokenIds === 'unknown' ? null : Number(tokenIds === 'given'),
  );
}
