import { describePostgresContract } from './postgres/describe-postgres-contract.ts';

describePostgresContract('PostgreSQL in process', async (store) => ({ store, close: () => store.close() }));
