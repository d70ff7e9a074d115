import { describeStoreContract } from '@agentlightning/core/contracts';
import { openStore } from '../src/index.ts';

describeStoreContract({
  name: 'SQLite in process',
  open: async ({ clock }) => {
    const store = await openStore(':memory:', { clock, watchdogIntervalMs: 5 });
    return { store, close: () => store.close() };
  },
});
