import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { AgentLightningError } from '@agentlightning/core';
import { errorMessage, systemClock } from '@agentlightning/core/internal';
import {
  closeServer,
  hostAndPort,
  isLoopback,
  isSameSecret,
  type ListenAddress,
  listen,
} from '@agentlightning/core/protocol';
import { collectDefaultMetrics, type Registry } from 'prom-client';

/** A listener for scrapes. */
export interface MetricsServer {
  /** The address of the metrics: `http://127.0.0.1:9464/metrics`. */
  readonly url: string;
  close(): Promise<void>;
}

const closeGraceMs = 500;

/**
 * Serves metrics at `/metrics`, and those of the process with them.
 *
 * @param apiKey - the bearer token of scrapes; null without one, for loopback only
 * @throws AgentLightningError PORT_IN_USE; CONFIG for an address that other machines reach without a key
 */
export async function serveMetrics(
  registry: Registry,
  address: ListenAddress,
  apiKey: string | null,
): Promise<MetricsServer> {
  if (apiKey === null && !isLoopback(address.host)) throw keyNeeded(address.host);
  if (registry.getSingleMetric('process_cpu_user_seconds_total') === undefined) {
    collectDefaultMetrics({ register: registry });
  }
  const server = createServer((request, response) => void respond(registry, apiKey, { request, response }));
  const port = await listen(server, 'the metrics', address);
  return {
    url: `http://${hostAndPort({ ...address, port })}/metrics`,
    close: () => closeServer(server, closeGraceMs, systemClock),
  };
}

async function respond(
  registry: Registry,
  apiKey: string | null,
  { request, response }: { readonly request: IncomingMessage; readonly response: ServerResponse },
): Promise<void> {
  const end = (status: number, text: string): void => void response.writeHead(status).end(`${text}\n`);
  if (request.url?.split('?')[0] !== '/metrics' || request.method !== 'GET')
    return end(404, 'The metrics are at /metrics.');
  if (apiKey !== null && !isSameSecret(request.headers.authorization ?? '', `Bearer ${apiKey}`)) {
    return end(401, 'Send the value of AGL_METRICS_KEY as a bearer token.');
  }
  try {
    const text = await registry.metrics();
    response.writeHead(200, { 'content-type': registry.contentType }).end(text);
  } catch (error) {
    end(500, errorMessage(error));
  }
}

function keyNeeded(host: string): AgentLightningError {
  return new AgentLightningError({
    code: 'CONFIG',
    message: `metrics at ${host} can be read from other machines, and there is no key`,
    remedy: 'Set AGL_METRICS_KEY to a bearer token, or listen at loopback: `--metrics 9464`.',
  });
}
