import { DatabaseSync } from 'node:sqlite';
import { parentPort, workerData } from 'node:worker_threads';
import type { CheckpointAnswer, CheckpointRequest, CheckpointWorkerData } from './sqlite-checkpointer.ts';

/** A thread that moves what was written from the log into the file, for {@link SqliteCheckpointer}. */
const { path, synchronous } = workerData as CheckpointWorkerData;
const database = new DatabaseSync(path, { timeout: 0 });
database.exec(`PRAGMA synchronous = ${synchronous}`);
const checkpoint = database.prepare('PRAGMA wal_checkpoint(PASSIVE)');

parentPort?.on('message', (request: CheckpointRequest) => {
  if (request === 'close') {
    database.close();
    parentPort?.close();
    return;
  }
  parentPort?.postMessage(answer());
});

function answer(): CheckpointAnswer {
  try {
    const { log, checkpointed } = checkpoint.get() ?? {};
    return { logPages: Number(log), movedPages: Number(checkpointed) };
  } catch {
    // A full disk, or somebody in the way: the next one makes up for it, and the log has it all meanwhile.
    return null;
  }
}
