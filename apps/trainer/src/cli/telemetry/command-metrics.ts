import type { Registry } from 'prom-client';
import { measureActivities } from '../../metrics/activity-metrics.ts';
import { metricsAddress } from '../../metrics/metrics-address.ts';
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
