import { backupStore, migrateStore, restoreStore, vacuumStore } from '@agentlightning/store';
import { writeOutcome } from '../error-text.ts';
import { formatBytes } from '../format-bytes.ts';

/** The flags of `agl store vacuum`. */
export interface FileFlags {
  readonly store: string;
  readonly json?: boolean;
}

/** The flags of `agl store backup` and `restore`. */
export interface BackupFlags extends FileFlags {
  readonly force?: boolean;
}

/** The flags of `agl store migrate`. */
export interface MigrateFlags extends FileFlags {
  readonly dryRun?: boolean;
}

/** Copies a store into a file. */
export async function backup(file: string, flags: BackupFlags): Promise<void> {
  const written = await backupStore(flags.store, file, { force: flags.force === true });
  writeOutcome(flags, {
    record: { file: written.file, bytes: written.bytes, schema_version: written.schemaVersion },
    text: `Backed up to ${written.file} (${formatBytes(written.bytes)}).`,
  });
}

/** Replaces a store by a backup. */
export async function restore(file: string, flags: BackupFlags): Promise<void> {
  const restored = await restoreStore(file, flags.store, { force: flags.force === true });
  writeOutcome(flags, {
    record: { file: restored.file, bytes: restored.bytes, schema_version: restored.schemaVersion },
    text: `Restored ${restored.file} (${formatBytes(restored.bytes)}).`,
  });
}

/** Returns free space to the disk. */
export async function vacuum(flags: FileFlags): Promise<void> {
  const { file, bytesBefore, bytesAfter } = await vacuumStore(flags.store);
  writeOutcome(flags, {
    record: { file, bytes_before: bytesBefore, bytes_after: bytesAfter },
    text: `${file}: ${formatBytes(bytesBefore)} before, ${formatBytes(bytesAfter)} after.`,
  });
}

/** Brings a store's schema up to date. */
export async function migrate(flags: MigrateFlags): Promise<void> {
  const isDryRun = flags.dryRun === true;
  const { fromVersion, toVersion, migrations } = await migrateStore(flags.store, {
    isDryRun,
    onIndexed: tellIndexed(),
  });
  const names = migrations.map(({ version, name }) => `  ${version} ${name}`);
  const heading =
    names.length === 0
      ? `The schema is up to date: version ${toVersion}.`
      : `${isDryRun ? 'Due' : 'Done'}, from version ${fromVersion} to ${toVersion}:`;
  writeOutcome(flags, {
    record: { from_version: fromVersion, to_version: toVersion, migrations, dry_run: isDryRun },
    text: [heading, ...names].join('\n'),
  });
}

/** Reports the progress of a long migration on standard error. */
function tellIndexed(): (places: number) => void {
  const step = 50_000;
  let next = step;
  return (places) => {
    if (places < next) return;
    next = places + step;
    process.stderr.write(`${places} index entries are rebuilt.\n`);
  };
}
