import { createHash } from 'node:crypto';
import { mkdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { repositoryRoot } from '../repository-files.ts';

/** How often a run that waits for another one looks again, in milliseconds. */
const lookAgainMs = 1000;

/**
 * Runs something with the folder where the matrix has its archives, projects, runtimes and results.
 *
 * It lies among the temporary files, since a folder within the workspace would find the workspace's packages. It stays
 * there, so that the next run is quick. One run at a time has it.
 */
export async function inMatrixHome<TResult>(
  onWait: (line: string) => void,
  run: (home: string) => Promise<TResult>,
): Promise<TResult> {
  const digest = createHash('sha256').update(repositoryRoot).digest('hex').slice(0, 8);
  const home = join(tmpdir(), `agentlightning-matrix-${digest}`);
  await mkdir(home, { recursive: true });
  const lock = join(home, 'process-id');
  while (!(await isTaken(lock))) {
    onWait('waiting for another run of the matrix');
    await sleep(lookAgainMs);
  }
  try {
    return await run(home);
  } finally {
    await rm(lock, { force: true });
  }
}

/** Whether the lock is this process's now. That of a process that is gone is nobody's. */
async function isTaken(lock: string): Promise<boolean> {
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
