export type { PostgresServer, StartPostgresOptions } from './postgres-server.ts';
export { startPostgres } from './postgres-server.ts';
