import { bytesOnDisk, existingStoreFile, withFile } from './store-file.ts';

/** What a store takes on disk, before and after. */
export interface VacuumedStore {
  readonly file: string;
  readonly bytesBefore: number;
  readonly bytesAfter: number;
}

/**
 * Gives the room that deleted rollouts took back to the disk. Others can go on reading meanwhile, and wait to write.
 *
 * @throws NotFoundError when there is no such store
 * @throws AgentLightningError CONFIG for a store that is no file, TIMEOUT while somebody else writes all the time
 */
export async function vacuumStore(location: string): Promise<VacuumedStore> {
  const file = existingStoreFile(location, 'PostgreSQL does that by itself; `VACUUM FULL` in psql does it at once.');
  const bytesBefore = await bytesOnDisk(file);
  await withFile(file, { readOnly: false }, (database) => {
    database.exec('VACUUM');
    database.exec('PRAGMA wal_checkpoint(TRUNCATE)');
  });
  return { file, bytesBefore, bytesAfter: await bytesOnDisk(file) };
}
