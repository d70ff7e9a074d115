import { serveGateway } from '@agentlightning/gateway';
import { openAnyStore } from '../runtime/open-any-store.ts';
import { serverLog } from './server-log.ts';
import { untilStopped } from './until-stopped.ts';

/** The flags of `agl gateway`. */
export interface GatewayFlags {
  readonly store: string;
  readonly upstream: string;
  readonly model?: string;
  readonly host: string;
  readonly port: number;
}

/** Serves a gateway until the process is stopped. */
export async function runGateway({ store: storeUrl, upstream, model, host, port }: GatewayFlags): Promise<void> {
  const log = serverLog('agl-gateway');
  const store = await openAnyStore({ url: storeUrl, apiKey: process.env['AGL_STORE_KEY'] ?? null });
  try {
    const gateway = await serveGateway({
      store,
      upstream: { baseUrl: upstream, model: model ?? null, apiKey: process.env['AGL_UPSTREAM_KEY'] ?? null },
      host,
      port,
      apiKey: process.env['AGL_GATEWAY_KEY'] ?? null,
      log,
    });
    log.info({ url: gateway.url, upstream, model: model ?? null }, 'gateway is up');
    // Before anybody is told that it is up, and may stop it.
    const stopped = untilStopped(() => gateway.close());
    process.stdout.write(`${JSON.stringify({ event: 'ready', url: gateway.url })}\n`);
    await stopped;
  } finally {
    await store.close();
  }
  log.info('gateway has stopped');
}
