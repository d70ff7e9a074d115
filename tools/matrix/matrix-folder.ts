import { createHash } from 'node:crypto';
import { mkdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { repositoryRoot } from '../repository-files.ts';

/** The polling interval while another run holds the lock, in milliseconds. */
const lockPollMs = 1000;

/**
 * Runs a function with exclusive access to the matrix folder, which has archives, projects, runtimes and results.
 *
 * The folder is a temporary one, because Node would resolve the workspace's packages from a folder within the workspace. It
 * is kept to speed up the next run.
 */
export async function withMatrixFolder<TResult>(
  onWait: (line: string) => void,
  run: (home: string) => Promise<TResult>,
): Promise<TResult> {
  const digest = createHash('sha256').update(repositoryRoot).digest('hex').slice(0, 8);
  const home = join(tmpdir(), `agentlightning-matrix-${digest}`);
  await mkdir(home, { recursive: true });
  const lock = join(home, 'process-id');
  while (!(await tryLock(lock))) {
    onWait('waiting for another matrix run');
    await sleep(lockPollMs);
  }
  try {
    return await run(home);
  } finally {
    await rm(lock, { force: true });
  }
}

/** Tries to acquire the lock. The lock of a process that has ended is removed. */
async function tryLock(lock: string): Promise<boolean> {
  const isWritten = await writeFile(lock, String(process.pid), { flag: 'wx' }).then(
    () => true,
    () => false,
  );
  if (isWritten) return true;
  const holder = Number.parseInt(await readFile(lock, 'utf8').catch(() => ''), 10);
  if (Number.isInteger(holder) && !isAlive(holder)) await rm(lock, { force: true });
  return false;
}

function isAlive(processId: number): boolean {
  try {
    return process.kill(processId, 0);
  } catch {
    return false;
  }
}
