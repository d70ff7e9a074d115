import { createServer } from 'node:http';
import { AgentLightningError, type Clock } from '@agentlightning/core';
import { systemClock } from '@agentlightning/core/internal';
import { closeServer, hostAndPort, isLoopback, listen } from '@agentlightning/core/protocol';
import { getRequestListener } from '@hono/node-server';
import { dashboardApp } from './dashboard-app.ts';
import { dashboardContext } from './dashboard-context.ts';
import type { DashboardStore } from './dashboard-store.ts';
import type { WarningExplanations } from './run-progress.ts';
import { ViewerAccess } from './viewer-access.ts';
import { defaultWebFolder, readWebFiles } from './web-files.ts';

/** Limit for connections to end when the dashboard closes, in milliseconds. */
const closeGraceMs = 1000;

/** Options of {@link serveDashboard}. */
export interface DashboardOptions {
  /** The store to show. The dashboard only reads. */
  readonly store: DashboardStore;
  /** Label of the store in the page; it must not contain passwords. @default '' */
  readonly label?: string;
  /** Address to listen at; an address reachable from other machines requires a `viewerKey`. @default '127.0.0.1' */
  readonly host?: string;
  /** 0 for any free port. @default 0 */
  readonly port?: number;
  /** The key that viewers must enter. @default null none */
  readonly viewerKey?: string | null;
  /** Cause and remedy of the warnings that runs record, by name. @default none */
  readonly warningExplanations?: WarningExplanations;
  /** Folder of the built web page. @default the one of this package */
  readonly webFolder?: string;
  /** @default the system clock */
  readonly clock?: Clock;
}

/** A listening dashboard. */
export interface Dashboard {
  /** `http://127.0.0.1:4770` */
  readonly url: string;
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
  const { store, host = '127.0.0.1', viewerKey = null, clock = systemClock } = options;
  if (!isLoopback(host) && !viewerKey) throw keyNeeded(host);
  const closing = new AbortController();
  const app = dashboardApp({
    context: dashboardContext({
      store,
      clock,
      label: options.label ?? '',
      explanations: options.warningExplanations ?? {},
    }),
    access: new ViewerAccess({ viewerKey: viewerKey || null, isLoopback: isLoopback(host) }),
    files: await readWebFiles(options.webFolder ?? defaultWebFolder()),
    closing: closing.signal,
  });
  const listener = getRequestListener(app.fetch, { overrideGlobalObjects: false });
  const server = createServer({ requestTimeout: 30_000, maxHeaderSize: 32 * 1024 }, (incoming, outgoing) => {
    void listener(incoming, outgoing);
  });
  const port = await listen(server, 'the dashboard', { host, port: options.port ?? 0 });
  return {
    url: `http://${hostAndPort({ host, port })}`,
    port,
    close: async (notice) => {
      closing.abort(notice);
      await closeServer(server, closeGraceMs, clock);
    },
  };
}

function keyNeeded(host: string): AgentLightningError {
  return new AgentLightningError({
    code: 'CONFIG',
    message: `Dashboard at ${host} refused: other machines can reach it, and it has no viewer key.`,
    remedy: 'Set a viewerKey (for `agl dashboard`: the variable AGL_DASHBOARD_KEY), or listen at 127.0.0.1.',
  });
}
