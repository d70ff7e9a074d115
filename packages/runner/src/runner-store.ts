import type { Store } from '@agentlightning/core';

/** The operations of a store that a runner uses. Any {@link Store} has them. Heartbeats of workers are optional. */
export type RunnerStore = Partial<Pick<Store, 'updateWorker'>> &
  Pick<
    Store,
    | 'claimRollouts'
    | 'getRollout'
    | 'updateRollout'
    | 'getLatestAttempt'
    | 'updateAttempt'
    | 'getResources'
    | 'getLatestResources'
    | 'querySpans'
    | 'appendSpans'
  >;
