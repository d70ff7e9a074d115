import type { Store } from '@agentlightning/core';
import type { RevokedTokens } from '@agentlightning/core/store';

/** The operations of a store that can run within one transaction: the short ones that do not wait. */
export type StoreTransaction = Omit<
  Store,
  | 'waitForRollouts'
  | 'watchChanges'
  | 'statistics'
  | 'deleteRun'
  | 'applyRetention'
  | 'exportRun'
  | 'importRun'
  | keyof RevokedTokens
  | 'close'
>;
