import { createHash } from 'node:crypto';
import { AgentLightningError } from '@agentlightning/core';
import { readInteger, readText } from '../sql/row-value.ts';
import type { SqlDialect } from '../sql/sql-dialect.ts';
import type { SqlConnection, SqlDriver } from '../sql/sql-driver.ts';
import { contentTables } from './content-tables.ts';
import { rolloutIndexes } from './rollout-indexes.ts';
import { tables } from './tables.ts';

/** Version 1 of the schema. */
const initialSchema: Migration = {
  version: 1,
  name: 'initial schema',
  statements: (dialect) => [
    ...tables(dialect),
    ...rolloutIndexes(dialect),
    ...(dialect.keepsCounts ? rolloutCounts(dialect) : []),
  ],
};

/** Triggers that count rollouts by run, mode and status. The empty text stands for null, which a key cannot hold. */
function rolloutCounts({ columnTypes: { integer, text } }: SqlDialect): readonly string[] {
  const keyOf = (row: 'new' | 'old'): string => `coalesce(${row}.run_id, ''), coalesce(${row}.mode, ''), ${row}.status`;
  const add = (row: 'new' | 'old', sign: 1 | -1): string =>
    `INSERT INTO rollout_counts (run_id, mode, status, rollouts) VALUES (${keyOf(row)}, ${sign})
       ON CONFLICT (run_id, mode, status) DO UPDATE SET rollouts = rollouts + excluded.rollouts;`;
  return [
    `CREATE TABLE rollout_counts (
      run_id ${text} NOT NULL,
      mode ${text} NOT NULL,
      status ${text} NOT NULL,
      rollouts ${integer} NOT NULL,
      PRIMARY KEY (run_id, mode, status)
    )`,
    `CREATE TRIGGER count_new_rollout AFTER INSERT ON rollouts BEGIN ${add('new', 1)} END`,
    `CREATE TRIGGER count_deleted_rollout AFTER DELETE ON rollouts BEGIN ${add('old', -1)} END`,
    `CREATE TRIGGER count_changed_rollout AFTER UPDATE OF run_id, mode, status ON rollouts
     BEGIN ${add('old', -1)} ${add('new', 1)} END`,
  ];
}

/** Every migration, in order. */
export const migrations: readonly Migration[] = [
  initialSchema,
  { version: 2, name: 'contents stored once', statements: contentTables },
];

/** Options of a migration. */
export interface MigrateOptions {
  /** The current time in Unix milliseconds. */
  readonly nowMs: number;
  /** @default every migration of this version of the package */
  readonly migrations?: readonly Migration[];
}

/**
 * Migrates the schema in one transaction. When several processes start together, one of them migrates.
 *
 * @throws AgentLightningError STORE_SCHEMA when a newer version wrote the store, when it is not a store, or when a version of the
 *   package before its release created it with other tables
 */
export async function migrate(driver: SqlDriver, options: MigrateOptions): Promise<void> {
  const known = options.migrations ?? migrations;
  const newest = known.at(-1)?.version ?? 0;
  const isCurrent = await driver.read(async (connection) => {
    if ((await currentVersion(driver, connection)) !== newest) return false;
    await assertUnchanged(driver, connection, known);
    return true;
  });
  if (isCurrent) return;
  await driver.write(async (connection) => {
    if (driver.dialect.lockSchema !== null) await connection.all(driver.dialect.lockSchema);
    const version = await currentVersion(driver, connection);
    if (version > newest) throw newerSchema(version, newest);
    if (version === 0) {
      const { real } = driver.dialect.columnTypes;
      await connection.run(
        `CREATE TABLE schema_migrations (version INTEGER PRIMARY KEY, name TEXT NOT NULL, time_ms ${real} NOT NULL, digest TEXT NOT NULL)`,
      );
    } else await assertUnchanged(driver, connection, known);
    for (const migration of known.filter((candidate) => candidate.version > version)) {
      for (const statement of migration.statements(driver.dialect)) await connection.run(statement);
      await connection.run('INSERT INTO schema_migrations (version, name, time_ms, digest) VALUES (?, ?, ?, ?)', [
        migration.version,
        migration.name,
        options.nowMs,
        digestOf(migration, driver.dialect),
      ]);
    }
  });
}

/**
 * Reads the version of the schema; 0 for an empty database.
 *
 * @throws AgentLightningError STORE_SCHEMA when it is not a store
 */
export async function currentVersion(driver: SqlDriver, connection: SqlConnection): Promise<number> {
  const tables = (await connection.all(driver.dialect.tableNames)).map((row) => readText(row, 'name'));
  if (tables.length === 0) return 0;
  if (!tables.includes('schema_migrations')) {
    throw new AgentLightningError({
      code: 'STORE_SCHEMA',
      message: `The database is not a store: it has tables of something else (${tables.slice(0, 3).join(', ')})`,
    });
  }
  const [row] = await connection.all('SELECT max(version) AS version FROM schema_migrations');
  return row === undefined ? 0 : readInteger(row, 'version');
}

/**
 * Asserts that the migrations of a store had the statements that they have now: until the first release, the initial schema
 * changes.
 *
 * @throws AgentLightningError STORE_SCHEMA when one of them had others
 */
export async function assertUnchanged(
  driver: SqlDriver,
  connection: SqlConnection,
  known: readonly Migration[],
): Promise<void> {
  for (const row of await connection.all('SELECT * FROM schema_migrations')) {
    const version = readInteger(row, 'version');
    const migration = known.find((candidate) => candidate.version === version);
    if (migration === undefined || row['digest'] === digestOf(migration, driver.dialect)) continue;
    throw new AgentLightningError({
      code: 'STORE_SCHEMA',
      message: `The store was created by another development version of this package: version ${version} of the schema had other tables`,
      remedy:
        'Move the file or database away, or name another store. To keep its runs, write them to files with the version that created it (`agl store export`), and read them with this one (`agl store import`).',
      details: { version },
    });
  }
}

/** Identifies the statements of a migration. */
function digestOf(migration: Migration, dialect: SqlDialect): string {
  return createHash('sha256')
    .update(JSON.stringify(migration.statements(dialect)))
    .digest('hex');
}

/** The error for a schema that a newer version of the package wrote. */
export function newerSchema(version: number, newest: number): AgentLightningError {
  return new AgentLightningError({
    code: 'STORE_SCHEMA',
    message: `The store has schema version ${version}, and this package knows versions up to ${newest}`,
    details: { version, newest },
  });
}

/** One numbered change of the schema. Migrations are only ever added, never changed. */
interface Migration {
  /** From 1, without gaps. */
  readonly version: number;
  readonly name: string;
  /** Run in order, in one transaction with all other pending migrations. Column types come from the dialect. */
  readonly statements: (dialect: SqlDialect) => readonly string[];
}
