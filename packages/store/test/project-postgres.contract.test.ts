/** @module-tag long */
import { describeStoreContract } from '@agentlightning/core/contracts';
import { afterAll, beforeAll } from 'vitest';
import { openProjectStores } from '../src/index.ts';
import { createTestDatabase, type TestDatabase } from './postgres/database.ts';
import { describePostgres } from './postgres/describe-postgres.ts';

describePostgres('PostgreSQL', () => {
  let database: TestDatabase;
  let count = 0;
  beforeAll(async () => {
    database = await createTestDatabase();
  });
  afterAll(() => database[Symbol.asyncDispose]());

  describeStoreContract({
    name: 'a project in its own schema',
    open: async ({ clock }) => {
      count += 1;
      const project = `project-${count}`;
      const projects = await openProjectStores(database.url, { clock, watchdogIntervalMs: 5 });
      await projects.main.createAccessKey({ name: 'team', role: 'viewer', project });
      return { store: await projects.store(project), close: () => projects.close() };
    },
  });
});
