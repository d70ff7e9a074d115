import { AgentLightningError } from '@agentlightning/core';
import type { ListenAddress } from '@agentlightning/core/protocol';
import type { Registry } from 'prom-client';
import { measureActivities } from '../../metrics/activity-metrics.ts';
import { serveMetrics } from '../../metrics/serve-metrics.ts';

/**
 * Serves the metrics of a command at the address of `--metrics`, with those of its activities.
 *
 * @param address - undefined without the flag: nothing is served
 * @returns a function that ends it
 * @throws AgentLightningError CONFIG for a wrong address, or one without a key; PORT_IN_USE
 */
export async function openCommandMetrics(
  registry: Registry,
  address: string | undefined,
): Promise<() => Promise<void>> {
  const endActivities = measureActivities(registry);
  try {
    const apiKey = process.env['AGL_METRICS_KEY'] || null;
    const server = address === undefined ? null : await serveMetrics(registry, metricsAddress(address), apiKey);
    if (server !== null) process.stderr.write(`Metrics: ${server.url}\n`);
    return async () => {
      endActivities();
      await server?.close();
    };
  } catch (error) {
    endActivities();
    throw error;
  }
}

/**
 * The address of `--metrics`: a port of loopback, or `host:port`.
 *
 * @throws AgentLightningError CONFIG for anything else
 */
function metricsAddress(text: string): ListenAddress {
  const [, host = '127.0.0.1', digits = ''] = /^(?:\[?([^\]]+)\]?:)?(\d{1,5})$/.exec(text) ?? [];
  const port = Number(digits);
  if (digits !== '' && port <= 65_535) return { host, port };
  throw new AgentLightningError({
    code: 'CONFIG',
    message: `invalid address of --metrics: ${text}`,
    remedy: 'Pass a port such as 9464, or host:port such as 0.0.0.0:9464.',
  });
}
