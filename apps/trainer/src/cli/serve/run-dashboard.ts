import { AgentLightningError, type Store } from '@agentlightning/core';
import { addressText } from '@agentlightning/core/internal';
import { type Dashboard, type Replayer, serveDashboard } from '@agentlightning/dashboard';
import { createDashboardHandler, type DashboardHandler } from '@agentlightning/dashboard/internal';
import { loadConfig } from '../../config/load-config.ts';
import { isPromptSearch } from '../../config/resolve-run.ts';
import { datasetLines, emptyDatasetCounts } from '../../dataset/dataset-lines.ts';
import { resolvedEndpoint } from '../../evaluation-run/open-subject.ts';
import { warningExplanations } from '../../events/run-warning.ts';
import { withTelemetry } from '../../metrics/command-telemetry.ts';
import { openReplayer } from '../../replay/open-replayer.ts';
import { auditRun } from '../../rewards/audit-run.ts';
import { connectionOverrides } from '../connection-overrides.ts';
import { endpointOf } from '../evaluation/subject-options.ts';
import { openExistingStore } from '../open-existing-store.ts';
import { untilStopped } from './until-stopped.ts';

/** The flags of `agl dashboard`. */
export interface DashboardFlags {
  readonly store: string;
  readonly host: string;
  readonly port: number;
  /** The configuration of the runs whose checkpoints replay model calls. */
  readonly replay?: string;
  readonly dataDir?: string;
  readonly endpoint?: string;
  readonly model?: string;
  readonly keyEnv?: string;
}

/** Serves the dashboard of a store until the process is stopped. */
export async function runDashboard(flags: DashboardFlags): Promise<void> {
  await withTelemetry('agl-dashboard', () => serveUntilStopped(flags));
}

async function serveUntilStopped(flags: DashboardFlags): Promise<void> {
  const { store: url } = flags;
  const store = await openExistingStore(url);
  try {
    const dashboard = await openDashboard(store, flags);
    // Before the ready line, after which a signal may arrive.
    const stopped = untilStopped(() => dashboard.close());
    process.stderr.write(`Dashboard of ${addressText(url)}: ${dashboard.url} (Ctrl+C stops it)\n`);
    process.stdout.write(`${JSON.stringify({ type: 'ready', url: dashboard.url })}\n`);
    await stopped;
  } finally {
    await store.close();
  }
}

/** Serves the dashboard of an open store, with the key and the explanations of every `agl` dashboard. */
export async function openDashboard(store: Store, flags: DashboardFlags): Promise<Dashboard> {
  const { store: url, host, port } = flags;
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
    datasets: (request) => datasetLines(store, request, emptyDatasetCounts()),
    auditor: (runId) => auditRun({ store, runId }),
    replayer: await replayerOf(store, flags),
  });
}

/** The replayer of the flags; null without a model. */
async function replayerOf(store: Store, flags: DashboardFlags): Promise<Replayer | null> {
  const given = endpointOf(flags);
  if (flags.replay === undefined && given === null) return null;
  const config = flags.replay === undefined ? null : await loadConfig(flags.replay, connectionOverrides(flags));
  if (config !== null && isPromptSearch(config)) {
    throw new AgentLightningError({
      code: 'CONFIG',
      message: `the configuration ${flags.replay} of --replay is a prompt search, which has no checkpoints`,
      remedy: 'Pass the configuration of a training, or --endpoint and --model.',
    });
  }
  const endpoint = given === null ? null : resolvedEndpoint(given, 'agl dashboard');
  const onWarning = (message: string): void => void process.stderr.write(`${message}\n`);
  return openReplayer({ store, config, endpoint, onWarning });
}

/** Opens the dashboard of an open store within this process, without a listener. Requests to it need no key. */
export async function openLocalDashboard(store: Store, url: string): Promise<DashboardHandler> {
  const auditor = (runId: string) => auditRun({ store, runId });
  return await createDashboardHandler({ store, label: addressText(url), warningExplanations, auditor });
}
