import { closeSync, openSync, readSync, realpathSync } from 'node:fs';
import { DatabaseSync } from 'node:sqlite';
import { parentPort, workerData } from 'node:worker_threads';
import type { Checkpoint, CheckpointAnswer, CheckpointRequest, CheckpointWorkerData } from './sqlite-checkpointer.ts';

/** A thread that moves what was written from the log into the file, for {@link SqliteCheckpointer}. */
const { path, synchronous } = workerData as CheckpointWorkerData;
const database = new DatabaseSync(path, { timeout: 0 });
database.exec(`PRAGMA synchronous = ${synchronous}`);
/** Beside the file itself, where the path is a link. */
const logPath = `${realpathSync(path)}-wal`;
const checkpoint = database.prepare('PRAGMA wal_checkpoint(PASSIVE)');

/** How often to go on with what was written meanwhile. */
const mostRounds = 8;

parentPort?.on('message', (request: CheckpointRequest) => {
  if (request === 'close') {
    database.close();
    parentPort?.close();
    return;
  }
  parentPort?.postMessage(answer());
});

/**
 * Moves what there is, and then the little that was written meanwhile, until nothing was. SQLite sees to it that the disk
 * has the file only when a checkpoint comes to the log's end: unless one does here, a write waits for all of it later.
 */
function answer(): CheckpointAnswer {
  try {
    let moved = move();
    for (let round = 1, before = -1; round < mostRounds && moved.logPages !== before; round += 1) {
      before = moved.logPages;
      moved = move();
    }
    return moved;
  } catch {
    // A full disk, or somebody in the way: the next one makes up for it, and the log has it all meanwhile.
    return null;
  }
}

function move(): Checkpoint {
  // Before: one that begins anew in between is another next time, too.
  const logId = readLogId();
  const { log, checkpointed } = checkpoint.get() ?? {};
  return { logId, logPages: Number(log), movedPages: Number(checkpointed) };
}

/**
 * SQLite puts another number into the log's header when it begins it anew (https://sqlite.org/fileformat2.html#walformat).
 * The log may be opened and closed here, where the file itself may not: SQLite's locks on it would be gone.
 */
function readLogId(): number {
  const header = Buffer.alloc(20);
  const log = openSync(logPath, 'r');
  try {
    readSync(log, header, 0, header.length, 0);
  } finally {
    closeSync(log);
  }
  return header.readUInt32BE(16);
}
