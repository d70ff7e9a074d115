import { projectConfig } from '../../tools/vitest-project.ts';

/** The tests that mutants of the store's operations are run against: those without PostgreSQL and other processes. */
export default projectConfig('store-of-mutants', {
  // A test of a change that never comes fails soon; the longest test takes 1.1 s.
  testTimeoutMs: 4000,
  include: ['operations', 'sqlite.contract', 'long-lists', 'idempotency'].map((name) => `test/${name}.test.ts`),
});
