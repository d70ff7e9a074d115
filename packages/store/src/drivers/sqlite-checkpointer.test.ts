import { stat, symlink } from 'node:fs/promises';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { pathToFileURL } from 'node:url';
import { expect, test } from 'vitest';
import { temporaryFolder } from '../../test/temporary-folder.ts';
import { SqliteCheckpointer } from './sqlite-checkpointer.ts';

test('what was written gets into the file while the store stays open', async () => {
  await using open = await openLogged();
  const before = await bytesOf(open.path);
  const checkpointer = new SqliteCheckpointer({ path: open.path, synchronous: 'NORMAL', pagesPerCheckpoint: 100 });
  open.insert(500);
  checkpointer.committed(100_000);
  expect(checkpointer.isRunning).toBe(false);
  checkpointer.committed(400_000);
  expect(checkpointer.isRunning).toBe(true);
  await checkpointer.close();
  expect(checkpointer.isRunning).toBe(false);
  expect(await bytesOf(open.path)).toBeGreaterThan(before + 100_000);
  expect(open.count()).toBe(500);
});

test('a log that has become long begins anew before the next write, unless somebody reads what is in it', async () => {
  await using open = await openLogged();
  const options = { path: open.path, synchronous: 'NORMAL', pagesPerCheckpoint: 1, longestLogPages: 50 } as const;
  const checkpointer = new SqliteCheckpointer(options);
  open.insert(500);
  expect(await checkpointer.makeRoom()).toBe(false);
  const stopReading = open.read();
  open.insert(1);
  const makesRoom = async (): Promise<boolean> => {
    checkpointer.committed(500_000);
    return checkpointer.makeRoom();
  };
  for (let round = 0; round < 20; round += 1) expect(await makesRoom()).toBe(false);
  stopReading();
  await expect.poll(makesRoom, { timeout: 20_000 }).toBe(true);
  const before = await bytesOf(`${open.path}-wal`);
  open.insert(200);
  expect(await bytesOf(`${open.path}-wal`)).toBe(before);
  await checkpointer.close();
  expect(open.count()).toBe(701);
});

test('moves what is left of a long log while writes go on, as long as that makes it less', async () => {
  await using open = await openLogged();
  const options = { path: open.path, synchronous: 'NORMAL', pagesPerCheckpoint: 500, longestLogPages: 400 } as const;
  const checkpointer = new SqliteCheckpointer(options);
  open.insert(3000);
  checkpointer.committed(3_000_000);
  open.insert(1000);
  checkpointer.committed(300_000);
  // The thread is at it, or moves on to what came meanwhile: nobody waits.
  expect(await checkpointer.makeRoom()).toBe(false);
  await expect.poll(() => checkpointer.makeRoom(), { timeout: 20_000 }).toBe(true);
  await checkpointer.close();
  expect(open.count()).toBe(4000);
});

test('a log that began anew by itself is moved no later than others, also through a link', async () => {
  await using open = await openLogged();
  const link = `${open.path}-link`;
  await symlink(open.path, link);
  const checkpointer = new SqliteCheckpointer({ path: link, synchronous: 'NORMAL', pagesPerCheckpoint: 100 });
  for (const rows of [200, 204, 208, 212]) {
    const before = await bytesOf(open.path);
    open.insert(rows);
    checkpointer.committed(rows * 1400);
    const moved = async (): Promise<number> => {
      // It may have been at what came before.
      checkpointer.committed(0);
      return await bytesOf(open.path);
    };
    await expect.poll(moved, { timeout: 20_000 }).toBeGreaterThan(before + 100_000);
    await expect.poll(() => open.isAllMoved(), { timeout: 20_000 }).toBe(true);
  }
  await checkpointer.close();
  expect(open.count()).toBe(824);
});

test('does without another thread where it cannot run', async () => {
  await using open = await openLogged();
  const checkpointer = checkpointerWithoutProgram(open.path);
  open.insert(10);
  checkpointer.committed(10_000);
  await expect.poll(() => checkpointer.isRunning, { timeout: 20_000 }).toBe(false);
  checkpointer.committed(10_000);
  expect(checkpointer.isRunning).toBe(false);
  await checkpointer.close();
  expect(open.count()).toBe(10);
});

test('closes well while its thread fails to start', async () => {
  await using open = await openLogged();
  const checkpointer = checkpointerWithoutProgram(open.path);
  open.insert(10);
  checkpointer.committed(10_000);
  // In the same turn: the thread has not failed yet.
  await expect(checkpointer.close()).resolves.toBeUndefined();
  expect(open.count()).toBe(10);
});

/** One whose thread fails to start. */
function checkpointerWithoutProgram(path: string): SqliteCheckpointer {
  const program = pathToFileURL('/nowhere/sqlite-checkpoint-worker.js');
  return new SqliteCheckpointer({ path, synchronous: 'NORMAL', pagesPerCheckpoint: 1, program });
}

/** A database with a log that nobody moves into its file. */
async function openLogged() {
  const folder = await temporaryFolder();
  const path = join(folder.path, 'log.db');
  const database = new DatabaseSync(path);
  database.exec('PRAGMA journal_mode = WAL; PRAGMA wal_autocheckpoint = 0; CREATE TABLE rows (text TEXT)');
  return {
    path,
    insert: (rows: number): void => {
      const statement = database.prepare('INSERT INTO rows (text) VALUES (?)');
      for (let row = 0; row < rows; row += 1) statement.run('x'.repeat(1000));
    },
    /** Reads as another process does, which holds on to what the log has now. */
    read: (): (() => void) => {
      const reader = new DatabaseSync(path);
      reader.exec('BEGIN');
      reader.prepare('SELECT count(*) FROM rows').get();
      return () => reader.close();
    },
    /** Whether the log begins anew with the next write. */
    isAllMoved: (): boolean => {
      const { busy, log, checkpointed } = database.prepare('PRAGMA wal_checkpoint(PASSIVE)').get() ?? {};
      return busy === 0 && log === checkpointed;
    },
    count: (): unknown => database.prepare('SELECT count(*) AS count FROM rows').get()?.['count'],
    [Symbol.asyncDispose]: async () => {
      database.close();
      await folder[Symbol.asyncDispose]();
    },
  };
}

async function bytesOf(path: string): Promise<number> {
  return (await stat(path)).size;
}
