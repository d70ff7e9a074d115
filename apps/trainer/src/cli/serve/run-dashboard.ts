import type { Store } from '@agentlightning/core';
import { addressText } from '@agentlightning/core/internal';
import {
  createDashboardHandler,
  type Dashboard,
  type DashboardHandler,
  serveDashboard,
} from '@agentlightning/dashboard';
import { warningExplanations } from '../../diagnosis/run-warning.ts';
import { openExistingStore } from '../open-existing-store.ts';
import { withTelemetry } from '../telemetry/command-telemetry.ts';
import { untilStopped } from './until-stopped.ts';

/** The flags of `agl dashboard`. */
export interface DashboardFlags {
  readonly store: string;
  readonly host: string;
  readonly port: number;
}

/** Serves the dashboard of a store until the process is stopped. */
export async function runDashboard(flags: DashboardFlags): Promise<void> {
  await withTelemetry('agl-dashboard', () => serveUntilStopped(flags));
}

async function serveUntilStopped({ store: url, host, port }: DashboardFlags): Promise<void> {
  const store = await openExistingStore(url);
  try {
    const dashboard = await openDashboard(store, { store: url, host, port });
    // Before the ready line, after which a signal may arrive.
    const stopped = untilStopped(() => dashboard.close());
    process.stderr.write(`Dashboard of ${addressText(url)}: ${dashboard.url} (Ctrl+C stops it)\n`);
    process.stdout.write(`${JSON.stringify({ event: 'ready', url: dashboard.url })}\n`);
    await stopped;
  } finally {
    await store.close();
  }
}

/** Serves the dashboard of an open store, with the key and the explanations of every `agl` dashboard. */
export async function openDashboard(store: Store, { store: url, host, port }: DashboardFlags): Promise<Dashboard> {
  const viewerKey = process.env['AGL_DASHBOARD_KEY'] || null;
  const annotatorKey = process.env['AGL_DASHBOARD_ANNOTATOR_KEY'] || null;
  const label = addressText(url);
  return await serveDashboard({
    store,
    annotator: store,
    label,
    host,
    port,
    viewerKey,
    annotatorKey,
    warningExplanations,
  });
}

/** Opens the dashboard of an open store within this process, without a listener. Requests to it need no key. */
export async function openLocalDashboard(store: Store, url: string): Promise<DashboardHandler> {
  return await createDashboardHandler({ store, label: addressText(url), warningExplanations });
}
