export type { ReplayModel } from './api/replay-views.ts';
export type { DashboardHandlerOptions } from './server/dashboard-handler.ts';
export type { DashboardStore } from './server/dashboard-store.ts';
export type { DatasetReader, DatasetRequest } from './server/dataset-reader.ts';
export type { Replayer, ReplayRequest } from './server/replayer.ts';
export type { WarningExplanations } from './server/run-progress.ts';
export type { Dashboard, DashboardOptions } from './server/serve-dashboard.ts';
export { serveDashboard } from './server/serve-dashboard.ts';
export type { ViewerAuthenticator } from './server/viewer-access.ts';
