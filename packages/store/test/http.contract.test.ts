import { describeStoreContract } from '@agentlightning/core/contracts';
import { openStore } from '../src/index.ts';
import { overHttp } from './over-http.ts';

describeStoreContract({
  name: 'the HTTP client, over a server over SQLite',
  open: async ({ clock }) => overHttp(await openStore(':memory:', { clock, watchdogIntervalMs: 5 }), clock),
});
