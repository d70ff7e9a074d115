import { AgentLightningError, type Clock } from '@agentlightning/core';
import { systemClock } from '@agentlightning/core/internal';
import { assertStrongKey, isLoopback } from '@agentlightning/core/protocol';
import { dashboardApp } from './dashboard-app.ts';
import { dashboardContext, type RunAuditor } from './dashboard-context.ts';
import type { AnnotationStore, DashboardStore } from './dashboard-store.ts';
import type { DatasetReader } from './dataset-reader.ts';
import type { Replayer } from './replayer.ts';
import type { WarningExplanations } from './run-progress.ts';
import { ViewerAccess, type ViewerAuthenticator } from './viewer-access.ts';
import { defaultWebFolder, readWebFiles } from './web-files.ts';

/** Options of {@link createDashboardHandler}. */
export interface DashboardHandlerOptions {
  /** The store to show. */
  readonly store: DashboardStore;
  /** Label of the store in the page; it must not contain passwords. @default '' */
  readonly label?: string;
  /** Address of the server; one that is reachable from other machines requires a `viewerKey`. @default '127.0.0.1' */
  readonly host?: string;
  /** The key that viewers must enter. @default null none */
  readonly viewerKey?: string | null;
  /** The store that records annotations of viewers. @default null the dashboard only reads */
  readonly annotator?: AnnotationStore | null;
  /**
   * The key that permits annotations, which also permits viewing. Without it, viewers annotate only on a dashboard without a
   * `viewerKey`. @default null none
   */
  readonly annotatorKey?: string | null;
  /** Repeats recorded requests with other models, for viewers who may annotate. @default null requests are not repeated */
  readonly replayer?: Replayer | null;
  /** Reads the data sets that viewers download. @default null none */
  readonly datasets?: DatasetReader | null;
  /** Audits the reward of runs. @default null the dashboard has no audits */
  readonly auditor?: RunAuditor | null;
  /** Authenticates viewers instead of `viewerKey` and `annotatorKey`, such as by the keys of a server. @default null */
  readonly viewers?: ViewerAuthenticator | null;
  /** Cause and remedy of the warnings that runs record, by name. @default none */
  readonly warningExplanations?: WarningExplanations;
  /** Folder of the built web page. @default the one of this package */
  readonly webFolder?: string;
  /** @default the system clock */
  readonly clock?: Clock;
}

/** The HTTP application of a dashboard, to be served, or mounted in a server. */
export interface DashboardHandler {
  /** Responds to a request. */
  fetch(request: Request, env?: object): Response | Promise<Response>;
  /** Ends open event streams, with a notice that open pages show. */
  close(notice?: string): void;
}

/**
 * Creates the HTTP application of a dashboard, without a listener.
 *
 * @throws AgentLightningError CONFIG when a dashboard without a key would be reachable from other machines
 *
 * @example
 * ```ts
 * const dashboard = await createDashboardHandler({ store, viewerKey });
 * const response = await dashboard.fetch(new Request('http://localhost/api/runs'));
 * ```
 */
export async function createDashboardHandler(options: DashboardHandlerOptions): Promise<DashboardHandler> {
  const { store, host = '127.0.0.1', viewerKey = null, viewers = null, clock = systemClock } = options;
  if (!isLoopback(host) && !viewerKey && viewers === null) throw keyNeeded(host);
  assertStrongKey(viewerKey, { what: 'the dashboard', host, option: 'AGL_DASHBOARD_KEY' });
  assertStrongKey(options.annotatorKey, { what: 'the dashboard', host, option: 'AGL_DASHBOARD_ANNOTATOR_KEY' });
  const closing = new AbortController();
  const app = dashboardApp({
    context: dashboardContext({
      store,
      clock,
      label: options.label ?? '',
      annotator: options.annotator ?? null,
      replayer: options.replayer ?? null,
      datasets: options.datasets ?? null,
      auditor: options.auditor ?? null,
      explanations: options.warningExplanations ?? {},
    }),
    access: new ViewerAccess({
      viewerKey: viewerKey || null,
      annotatorKey: options.annotatorKey || null,
      isLoopback: isLoopback(host),
      viewers,
    }),
    files: await readWebFiles(options.webFolder ?? defaultWebFolder()),
    closing: closing.signal,
  });
  return { fetch: (request, env) => app.fetch(request, env), close: (notice) => closing.abort(notice) };
}

function keyNeeded(host: string): AgentLightningError {
  return new AgentLightningError({
    code: 'CONFIG',
    message: `Dashboard at ${host} refused: other machines can reach it, and it has no viewer key.`,
    remedy: 'Set a viewerKey (for `agl dashboard`: the variable AGL_DASHBOARD_KEY), or listen at 127.0.0.1.',
  });
}
