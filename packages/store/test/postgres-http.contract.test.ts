// @module-tag long
import { overHttp } from './over-http.ts';
import { describePostgresContract } from './postgres/describe-postgres-contract.ts';

describePostgresContract('the HTTP client, over a server over PostgreSQL', overHttp);
