/** The port of the dashboard. */
export const defaultDashboardPort = 4770;
