import { systemClock } from '@agentlightning/core/internal';
import { resolveQuotas } from '../attempt-quotas.ts';
import { ChangeFeed } from '../changes/change-feed.ts';
import { assertUnchanged, currentVersion, migrate, migrations, newerSchema } from '../migrations/migrate.ts';
import { openDriver } from '../open-store.ts';
import { countTextsToIndex } from '../operations/records/text-index-queue.ts';
import { indexRollouts } from '../operations/rollouts/index-rollouts.ts';
import { indexTexts } from '../operations/spans/index-rollout-texts.ts';
import { TransactionRunner } from '../sql/operation-runner.ts';
import type { SqlDriver } from '../sql/sql-driver.ts';
import { isPostgres } from '../store-location.ts';
import { existingStoreFile } from './store-file.ts';

/** The result of a migration or dry run. */
export interface StoreMigration {
  /** The version before. */
  readonly fromVersion: number;
  /** The version after. */
  readonly toVersion: number;
  /** The pending migrations, in order. */
  readonly migrations: readonly { readonly version: number; readonly name: string }[];
}

/**
 * Brings a store's schema and its full-text indexes up to date, or reports what that would do. An open store updates
 * the indexes in the background.
 *
 * @throws NotFoundError when there is no such store
 * @throws AgentLightningError STORE_SCHEMA when a newer version wrote it, or when it is not a store
 */
export async function migrateStore(
  location: string,
  options: {
    readonly isDryRun?: boolean;
    /** Receives the number of rollouts that were added to the full-text indexes so far. @default no callback */
    readonly onIndexed?: (rollouts: number) => void;
  } = {},
): Promise<StoreMigration> {
  if (!isPostgres(location)) existingStoreFile(location, 'A store in memory is always up to date.');
  const driver = await openDriver(location, {});
  try {
    const fromVersion = await driver.read((connection) => currentVersion(driver, connection));
    const toVersion = migrations.at(-1)?.version ?? 0;
    if (fromVersion > toVersion) throw newerSchema(fromVersion, toVersion);
    if (fromVersion > 0) await driver.read((connection) => assertUnchanged(driver, connection, migrations));
    if (options.isDryRun !== true) {
      await migrate(driver, { nowMs: systemClock.now() });
      await indexAllRollouts(driver, options.onIndexed ?? (() => undefined));
    }
    const due = migrations.filter(({ version }) => version > fromVersion);
    return { fromVersion, toVersion, migrations: due.map(({ version, name }) => ({ version, name })) };
  } finally {
    await driver.close();
  }
}

async function indexAllRollouts(driver: SqlDriver, onIndexed: (rollouts: number) => void): Promise<void> {
  const runner = new TransactionRunner({
    driver,
    clock: systemClock,
    feed: new ChangeFeed(),
    quotas: resolveQuotas({}),
  });
  let all = 0;
  for (let rollouts = await runner.write(indexRollouts); rollouts > 0; rollouts = await runner.write(indexRollouts)) {
    all += rollouts;
    onIndexed(all);
  }
  const texts = await runner.read(countTextsToIndex);
  for (let left = texts; left > 0; left = await runner.read(countTextsToIndex)) {
    onIndexed(texts - left);
    await indexTexts(runner);
  }
  if (texts > 0) onIndexed(texts);
}
