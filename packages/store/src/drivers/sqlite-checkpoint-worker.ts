import { DatabaseSync } from 'node:sqlite';
import { parentPort, workerData } from 'node:worker_threads';
import type { CheckpointAnswer, CheckpointRequest, CheckpointWorkerData } from './sqlite-checkpointer.ts';

/** A thread that moves what was written from the log into the file, for {@link SqliteCheckpointer}. */
const { path, synchronous } = workerData as CheckpointWorkerData;
const database = new DatabaseSync(path, { timeout: 0 });
database.exec(`PRAGMA synchronous = ${synchronous}`);

parentPort?.on('message', (request: CheckpointRequest) => {
  if (request === 'close') {
    database.close();
    parentPort?.close();
    return;
  }
  parentPort?.postMessage(checkpoint());
});

function checkpoint(): CheckpointAnswer {
  try {
    database.exec('PRAGMA wal_checkpoint(PASSIVE)');
    return 'done';
  } catch {
    // A full disk, or somebody in the way: the next one makes up for it, and the log has it all meanwhile.
    return 'failed';
  }
}
