// The program of the thread of `HashThread`.
import { createHash } from 'node:crypto';
import { parentPort } from 'node:worker_threads';
import type { HashAnswer, HashRequest } from './hash-thread.ts';

parentPort?.on('message', ({ id, bytes }: HashRequest) => {
  const digest = createHash('sha256').update(bytes).digest('base64');
  parentPort?.postMessage({ id, digest } satisfies HashAnswer);
});
