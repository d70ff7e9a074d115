import { afterAll, beforeAll, expect, test } from 'vitest';
import { openDriver } from '../src/open-store.ts';
import { projectSchema, truncatedSchema } from '../src/projects/project-location.ts';
import { openProjectStores } from '../src/projects/project-stores.ts';
import { createTestDatabase, type TestDatabase } from './postgres/database.ts';
import { describePostgres } from './postgres/describe-postgres.ts';

const own = 'a_team_with_a_long_schema';
const names = ['evaluation-of-the-search-agents-number-1', 'evaluation-of-the-search-agents-number-2'];

function within(url: string): string {
  const location = new URL(url);
  location.searchParams.set('options', `-c search_path=${own}`);
  return location.href;
}

test('projects with long names have different schemas, and those with short ones keep theirs', () => {
  const location = within('postgres://host/database');
  const [one, other] = names.map((name) => projectSchema(location, name) ?? '');
  expect(one).not.toBe(other);
  expect([one?.length, other?.length]).toEqual([63, 63]);
  expect(new Set(names.map((name) => truncatedSchema(location, name)))).toEqual(
    new Set(['a_team_with_a_long_schema_project_evaluation_of_the_search_agen']),
  );
  expect(projectSchema(location, 'a-b')).toBe('a_team_with_a_long_schema_project_a_b');
  expect(projectSchema('postgres://host/database', names[0] ?? '')).toBe(
    'project_evaluation_of_the_search_agents_number_1',
  );
});

describePostgres('PostgreSQL', () => {
  let database: TestDatabase;
  let location: string;
  beforeAll(async () => {
    database = await createTestDatabase();
    location = within(database.url);
    await run(`CREATE SCHEMA ${own}`);
  });
  afterAll(() => database[Symbol.asyncDispose]());

  async function run(statement: string): Promise<void> {
    const driver = await openDriver(database.url, { poolSize: 1 });
    await driver.write((connection) => connection.run(statement));
    await driver.close();
  }

  test('a truncated schema of one project gets its new name; one of several projects is not given to any', async () => {
    const [one = '', other = ''] = names;
    const truncated = truncatedSchema(location, one) ?? '';
    const first = await openProjectStores(location);
    await first.main.createAccessKey({ name: 'team', role: 'trainer', project: one });
    await (await first.store(one)).createRun({ runId: 'run-1', name: 'of the first', config: {} });
    await first.close();
    const rename = (from: string, to: string): Promise<void> => run(`ALTER SCHEMA "${from}" RENAME TO "${to}"`);
    await rename(projectSchema(location, one) ?? '', truncated);

    const second = await openProjectStores(location);
    expect(await (await second.store(one)).getRun('run-1')).toMatchObject({ name: 'of the first' });
    await second.main.createAccessKey({ name: 'team', role: 'trainer', project: other });
    expect((await (await second.store(other)).queryRuns()).items).toEqual([]);
    await second.close();

    await rename(projectSchema(location, one) ?? '', truncated);
    const third = await openProjectStores(location);
    await expect(third.store(one)).rejects.toMatchObject({
      code: 'STORE_SCHEMA',
      details: { projects: [one, other].toSorted() },
    });
    await third.close();
  });
});
