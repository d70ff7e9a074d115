export type { DashboardHandler, DashboardHandlerOptions } from './server/dashboard-handler.ts';
export { createDashboardHandler } from './server/dashboard-handler.ts';
export type { DashboardStore } from './server/dashboard-store.ts';
export type { WarningExplanations } from './server/run-progress.ts';
export type { Dashboard, DashboardOptions } from './server/serve-dashboard.ts';
export { serveDashboard } from './server/serve-dashboard.ts';
