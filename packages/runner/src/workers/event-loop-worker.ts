import { writeSync } from 'node:fs';
import { Session } from 'node:inspector';
import { workerData } from 'node:worker_threads';
import type { EventLoopWorkerData } from './watch-event-loop.ts';

/*
 * The thread that watches the main thread's event loop. When the loop is blocked, it pauses the main thread with the
 * inspector and calls the handler there: the call runs in the asynchronous context of the code that blocks.
 */

const { beats, limits, tickMs, handler, parentPid, pauseTimeoutMs, nativeCode } = workerData as EventLoopWorkerData;

let lastBeat = -1;
let silentMs = 0;

// Measured in ticks of this thread, so that time in which the machine is suspended does not count.
const ticks = setInterval(() => {
  const beat = Atomics.load(beats, 0);
  silentMs = beat === lastBeat ? silentMs + tickMs : 0;
  lastBeat = beat;
  // The main thread does not notice the end of the parent while its event loop is blocked.
  if (silentMs > 0 && parentPid !== null && process.ppid !== parentPid) killGroup();
  const [minBlockedMs = 0, earliestMs = 0, maxBlockedMs = 0] = limits;
  const isEarly = silentMs < minBlockedMs || performance.timeOrigin + performance.now() < earliestMs;
  if (isEarly && silentMs < maxBlockedMs) return;
  clearInterval(ticks);
  endProcess();
}, tickMs);

function killGroup(): void {
  process.kill(process.platform === 'win32' ? process.pid : -process.pid, 'SIGKILL');
}

function endProcess(): void {
  const session = new Session();
  session.connectToMainThread();
  session.on('Debugger.paused', ({ params }) => {
    const [frame] = params.callFrames;
    const where = `${frame?.functionName || 'an anonymous function'} (${frame?.url ?? ''})`;
    session.post('Runtime.evaluate', { expression: `globalThis[Symbol.for('${handler}')](${JSON.stringify(where)})` });
  });
  session.post('Debugger.enable');
  session.post('Debugger.pause');
  setTimeout(() => {
    writeSync(nativeCode.fd, `${nativeCode.message}\n`);
    process.kill(process.pid, 'SIGKILL');
  }, pauseTimeoutMs);
}
