import type { Store } from '@agentlightning/core';

/** The read operations of a store that the dashboard uses. It cannot write. */
export type DashboardStore = Pick<
  Store,
  | 'getRollout'
  | 'queryRollouts'
  | 'queryAttempts'
  | 'querySpans'
  | 'searchSpans'
  | 'getRun'
  | 'queryRuns'
  | 'queryMetrics'
  | 'runStatistics'
  | 'groupStatistics'
  | 'getWorker'
  | 'queryWorkers'
  | 'watchChanges'
  | 'statistics'
>;
