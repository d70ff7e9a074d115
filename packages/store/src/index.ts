export type { OpenStoreOptions } from './open-store.ts';
export { openStore } from './open-store.ts';
export type { IdempotentRequest } from './operations/answer-once.ts';
export type { StoreServer, StoreServerOptions } from './server/create-store-server.ts';
export { createStoreServer } from './server/create-store-server.ts';
export type { SqlClaimOptions } from './sql-store.ts';
export { SqlStore } from './sql-store.ts';
export type { StoreTransaction } from './sql-store-operations.ts';
export type { StoreChange, StoreChangeListener } from './store-change.ts';
