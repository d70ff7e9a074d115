export type { DashboardStore } from './server/dashboard-store.ts';
export type { WarningExplanations } from './server/run-progress.ts';
export type { Dashboard, DashboardOptions } from './server/serve-dashboard.ts';
export { serveDashboard } from './server/serve-dashboard.ts';
