import { DatabaseSync } from 'node:sqlite';
import { parentPort, workerData } from 'node:worker_threads';
import type { CheckpointAnswer, CheckpointRequest, CheckpointWorkerData } from './sqlite-checkpointer.ts';

/** A thread that moves what was written from the log into the file, for {@link SqliteCheckpointer}. */
const { path, synchronous } = workerData as CheckpointWorkerData;
const database = new DatabaseSync(path, { timeout: 0 });
database.exec(`PRAGMA synchronous = ${synchronous}`);
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

function move(): NonNullable<CheckpointAnswer> {
  const { log, checkpointed } = checkpoint.get() ?? {};
  return { logPages: Number(log), movedPages: Number(checkpointed) };
}
