import type { Store } from '@agentlightning/core';

/** The read operations of a store that the dashboard uses. It cannot write. */
export type DashboardStore = Pick<
  Store,
  | 'getRollout'
  | 'queryRollouts'
  | 'searchRollouts'
  | 'queryAttempts'
  | 'querySpans'
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

/** The operation that records annotations. */
export type AnnotationStore = Pick<Store, 'recordFeedback'>;
