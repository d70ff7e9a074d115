// Sends batches as the real program does, and dies before it can say so.
import { parentPort } from 'node:worker_threads';
import '../../src/client/upload-worker.ts';

if (parentPort !== null) parentPort.postMessage = () => process.exit(1);
