import { createServer } from 'node:http';
import { respondToWholeRequests, systemClock } from '@agentlightning/core/internal';
import { closeServer, hostAndPort, listen } from '@agentlightning/core/protocol';
import { getRequestListener } from '@hono/node-server';
import { createDashboardHandler, type DashboardHandlerOptions } from './dashboard-handler.ts';

/** Limit for connections to end when the dashboard closes, in milliseconds. */
const closeGraceMs = 1000;

/** Options of {@link serveDashboard}. */
export interface DashboardOptions extends DashboardHandlerOptions {
  /** 0 for any free port. @default 0 */
  readonly port?: number;
}

/** A listening dashboard. */
export interface Dashboard {
  /** `http://127.0.0.1:4770` */
  readonly url: string;
  /** The port that it listens on. */
  readonly port: number;
  /**
   * Stops listening and ends open connections. The store stays open.
   *
   * @param notice - text that open pages show, such as why the dashboard ends; by default they report a lost connection
   */
  close(notice?: string): Promise<void>;
}

/**
 * Serves the dashboard of a store.
 *
 * @throws AgentLightningError PORT_IN_USE when the port is taken; CONFIG when a dashboard without a key would be reachable
 * from other machines
 *
 * @example
 * ```ts
 * const dashboard = await serveDashboard({ store, port: 4770 });
 * console.log(dashboard.url);
 * await dashboard.close();
 * ```
 */
export async function serveDashboard(options: DashboardOptions): Promise<Dashboard> {
  const { host = '127.0.0.1', clock = systemClock } = options;
  const dashboard = await createDashboardHandler(options);
  const listener = getRequestListener(respondToWholeRequests(dashboard.fetch), { overrideGlobalObjects: false });
  const server = createServer({ requestTimeout: 30_000, maxHeaderSize: 32 * 1024 }, (incoming, outgoing) => {
    void listener(incoming, outgoing);
  });
  const port = await listen(server, 'the dashboard', { host, port: options.port ?? 0 });
  return {
    url: `http://${hostAndPort({ host, port })}`,
    port,
    close: async (notice) => {
      dashboard.close(notice);
      await closeServer(server, closeGraceMs, clock);
    },
  };
}
