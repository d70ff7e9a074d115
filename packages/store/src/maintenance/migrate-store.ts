import { systemClock } from '@agentlightning/core';
import { currentVersion, migrate, migrations, newerSchema } from '../migrate.ts';
import { openDriver } from '../open-store.ts';
import { isPostgres } from '../store-location.ts';
import { existingStoreFile } from './store-file.ts';

/** What bringing a store's schema up to date does, or would do. */
export interface StoreMigration {
  readonly fromVersion: number;
  readonly toVersion: number;
  /** The migrations that were due, in order. */
  readonly migrations: readonly { readonly version: number; readonly name: string }[];
}

/**
 * Brings a store's schema up to date, as opening it does; or tells what that would do.
 *
 * @throws NotFoundError when there is no such store
 * @throws AgentLightningError STORE_SCHEMA when a newer version wrote it, or when it is no store
 */
export async function migrateStore(
  location: string,
  options: { readonly isDryRun?: boolean } = {},
): Promise<StoreMigration> {
  if (!isPostgres(location)) existingStoreFile(location, 'A store in memory is always up to date.');
  const driver = await openDriver(location, {});
  try {
    const fromVersion = await driver.read((connection) => currentVersion(driver, connection));
    const toVersion = migrations.at(-1)?.version ?? 0;
    if (fromVersion > toVersion) throw newerSchema(fromVersion, toVersion);
    if (options.isDryRun !== true) await migrate(driver, { nowMs: systemClock.now() });
    const due = migrations.filter(({ version }) => version > fromVersion);
    return { fromVersion, toVersion, migrations: due.map(({ version, name }) => ({ version, name })) };
  } finally {
    await driver.close();
  }
}
