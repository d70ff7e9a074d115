import type { Store } from '@agentlightning/core';

/** The operations of a store that a runner uses. Any {@link Store} has them. */
export type RunnerStore = Pick<
  Store,
  | 'claimRollouts'
  | 'getRollout'
  | 'updateRollout'
  | 'getLatestAttempt'
  | 'updateAttempt'
  | 'updateWorker'
  | 'getResources'
  | 'getLatestResources'
  | 'querySpans'
  | 'appendSpans'
>;
