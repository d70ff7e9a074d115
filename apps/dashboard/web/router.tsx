import {
  createRootRoute,
  createRoute,
  createRouter,
  type ErrorComponentProps,
  lazyRouteComponent,
} from '@tanstack/react-router';
import type { ReactNode } from 'react';
import { type ChartSearch, chartSearch } from './chart-search.ts';
import { type DatasetSearch, datasetSearch } from './dataset-search.ts';
import { RunsPage } from './pages/runs-page.tsx';
import { EmptyNotice, FailureNotice } from './parts/notice.tsx';
import { PageFrame } from './parts/page-frame.tsx';
import { PageTitle } from './parts/page-title.tsx';
import { type RolloutsSearch, rolloutsSearch } from './rollout-columns.ts';
import { type RolloutFilters, rolloutFilters } from './rollout-filters.ts';
import { type RolloutSearch, rolloutSearch } from './rollout-views.ts';
import { type RunSearch, runSearch } from './run-search.ts';
import { type RunsSearch, runsSearch } from './runs-search.ts';
import { choiceValue, definedValues, numberValue, type SearchValues, textValue } from './search-values.ts';

const root = createRootRoute({ component: PageFrame, notFoundComponent: UnknownPage, errorComponent: FailedPage });

const runs = createRoute({
  getParentRoute: () => root,
  path: '/',
  validateSearch: (values: Record<string, unknown>): RunsSearch => runsSearch(values),
  component: RunsPage,
});

interface CompareSearch extends ChartSearch {
  readonly runs: string;
  readonly metric?: string | undefined;
}

const compare = createRoute({
  getParentRoute: () => root,
  path: '/compare',
  validateSearch: (values: Record<string, unknown>): CompareSearch => ({
    runs: textValue(values['runs']) ?? '',
    ...chartSearch(values),
    ...definedValues({ metric: textValue(values['metric']) }),
  }),
  component: lazyRouteComponent(() => import('./pages/compare-page.tsx'), 'ComparePage'),
});

const rollouts = createRoute({
  getParentRoute: () => root,
  path: '/rollouts',
  validateSearch: (values: Record<string, unknown>): RolloutsSearch => rolloutsSearch(values),
  component: lazyRouteComponent(() => import('./pages/rollouts-page.tsx'), 'RolloutsPage'),
});

const run = createRoute({
  getParentRoute: () => root,
  path: '/runs/$runId',
  validateSearch: (values: Record<string, unknown>): RunSearch => runSearch(values),
  component: lazyRouteComponent(() => import('./pages/run-page.tsx'), 'RunPage'),
});

const tasks = createRoute({
  getParentRoute: () => root,
  path: '/runs/$runId/tasks',
  validateSearch: (values: Record<string, unknown>): TasksSearch => tasksSearch(values),
  component: lazyRouteComponent(() => import('./pages/tasks-page.tsx'), 'TasksPage'),
});

const prompts = createRoute({
  getParentRoute: () => root,
  path: '/runs/$runId/prompts',
  validateSearch: (values: Record<string, unknown>): RolloutFilters & { version?: string | undefined } =>
    definedValues({ ...rolloutFilters(values), version: textValue(values['version']) }),
  component: lazyRouteComponent(() => import('./pages/prompts-page.tsx'), 'PromptsPage'),
});

const dataset = createRoute({
  getParentRoute: () => root,
  path: '/runs/$runId/dataset',
  validateSearch: (values: Record<string, unknown>): DatasetSearch => datasetSearch(values),
  component: lazyRouteComponent(() => import('./pages/dataset-page.tsx'), 'DatasetPage'),
});

const audit = createRoute({
  getParentRoute: () => root,
  path: '/runs/$runId/audit',
  validateSearch: (values: Record<string, unknown>): RolloutFilters => rolloutFilters(values),
  component: lazyRouteComponent(() => import('./pages/audit-page.tsx'), 'AuditPage'),
});

const rollout = createRoute({
  getParentRoute: () => root,
  path: '/rollouts/$rolloutId',
  validateSearch: (values: Record<string, unknown>): RolloutSearch => rolloutSearch(values),
  component: lazyRouteComponent(() => import('./pages/rollout-page.tsx'), 'RolloutPage'),
});

const deployments = createRoute({
  getParentRoute: () => root,
  path: '/deployments',
  component: lazyRouteComponent(() => import('./pages/deployments-page.tsx'), 'DeploymentsPage'),
});

const deployment = createRoute({
  getParentRoute: () => root,
  path: '/deployments/$name',
  component: lazyRouteComponent(() => import('./pages/deployment-page.tsx'), 'DeploymentPage'),
});

const workers = createRoute({
  getParentRoute: () => root,
  path: '/workers',
  component: lazyRouteComponent(() => import('./pages/workers-page.tsx'), 'WorkersPage'),
});

/** The router of the page. Every view has an address. */
export function createAppRouter() {
  return createRouter({
    routeTree: root.addChildren([
      runs,
      compare,
      run,
      tasks,
      prompts,
      dataset,
      audit,
      rollouts,
      rollout,
      deployments,
      deployment,
      workers,
    ]),
    defaultPreload: 'intent',
    scrollRestoration: true,
  });
}

declare module '@tanstack/react-router' {
  interface Register {
    readonly router: ReturnType<typeof createAppRouter>;
  }
}

function UnknownPage(): ReactNode {
  return (
    <>
      <PageTitle title="Unknown page" />
      <EmptyNotice title="There is nothing at this address">Choose a page above.</EmptyNotice>
    </>
  );
}

function FailedPage({ error, reset }: ErrorComponentProps): ReactNode {
  return (
    <main>
      <PageTitle title="Page failed" />
      <FailureNotice error={error instanceof Error ? error : new Error(String(error))} onRetry={reset} />
    </main>
  );
}

/** The state of the tasks page, as in the URL, with the filters of the run's rollouts. */
interface TasksSearch extends RolloutFilters {
  readonly task?: number | undefined;
  readonly step?: number | undefined;
  /** The order of the tasks: by mean reward, lowest first, or by index. */
  readonly order?: 'reward' | undefined;
  /** Whether the texts are compared with the one of the highest reward. */
  readonly compare?: 'best' | undefined;
}

/** Reads the state from the URL; invalid values are ignored. */
function tasksSearch(values: SearchValues): TasksSearch {
  return definedValues({
    ...rolloutFilters(values),
    task: numberValue(values['task']),
    step: numberValue(values['step']),
    order: choiceValue(['reward'], values['order']),
    compare: choiceValue(['best'], values['compare']),
  });
}
