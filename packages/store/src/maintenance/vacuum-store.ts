import { bytesOnDisk, existingStoreFile, withFile } from './store-file.ts';

/** The size of a store on disk before and after. */
export interface VacuumedStore {
  /** The file of the database. */
  readonly file: string;
  /** Size before. */
  readonly bytesBefore: number;
  /** Size after. */
  readonly bytesAfter: number;
}

/**
 * Returns the disk space of deleted rollouts to the file system. Readers continue; writers wait.
 *
 * @throws NotFoundError when there is no such store
 * @throws AgentLightningError CONFIG for a store that is not a file, TIMEOUT when the write lock cannot be acquired
 */
export async function vacuumStore(location: string): Promise<VacuumedStore> {
  const file = existingStoreFile(location, 'PostgreSQL vacuums automatically; run `VACUUM FULL` in psql to do it now.');
  const bytesBefore = await bytesOnDisk(file);
  await withFile(file, { readOnly: false }, (database) => {
    database.exec('VACUUM');
    database.exec('PRAGMA wal_checkpoint(TRUNCATE)');
  });
  return { file, bytesBefore, bytesAfter: await bytesOnDisk(file) };
}
