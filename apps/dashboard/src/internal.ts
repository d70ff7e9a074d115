/**
 * What the other packages of Agent Lightning share with this one. It can change in every release: programs of users import the
 * root of the package.
 *
 * @module
 */
export type { DashboardHandler } from './server/dashboard-handler.ts';
export { createDashboardHandler } from './server/dashboard-handler.ts';
export type { RolloutFilter } from './server/rollout-query.ts';
export { rolloutFilterFields, rolloutSearch } from './server/rollout-query.ts';
export { viewerCookie } from './server/viewer-access.ts';
