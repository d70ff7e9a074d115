import { readdir, readFile } from 'node:fs/promises';
import { setTimeout } from 'node:timers/promises';

/** How often to look whether a process is gone, in milliseconds. */
const lookAgainMs = 2;

/** Kills a process and all those that it started, as Linux lists them under `/proc`, and waits until they are gone. */
export async function killTree(root: number): Promise<void> {
  // Stopped first, so that it starts no others while they are counted.
  process.kill(root, 'SIGSTOP');
  const tree = await processTree(root);
  for (const pid of tree) {
    // One that has ended by itself meanwhile is as good as killed.
    if (await isAlive(pid)) process.kill(pid, 'SIGKILL');
  }
  for (const pid of tree) {
    while (await isAlive(pid)) await setTimeout(lookAgainMs);
  }
}

async function processTree(root: number): Promise<readonly number[]> {
  const childrenOf = new Map<number, number[]>();
  for (const entry of await readdir('/proc')) {
    const status = /^\d+$/.test(entry) ? await statusOf(Number(entry)) : null;
    if (status === null) continue;
    childrenOf.set(status.parent, [...(childrenOf.get(status.parent) ?? []), Number(entry)]);
  }
  const tree = [root];
  for (const pid of tree) tree.push(...(childrenOf.get(pid) ?? []));
  return tree;
}

/** Whether a process is there, and not only waiting for somebody to take note of its end. */
async function isAlive(pid: number): Promise<boolean> {
  const status = await statusOf(pid);
  return status !== null && status.state !== 'Z' && status.state !== 'X';
}

async function statusOf(pid: number): Promise<{ readonly state: string; readonly parent: number } | null> {
  const stat = await readFile(`/proc/${pid}/stat`, 'utf8').catch(() => null);
  if (stat === null) return null;
  // After the name, which is in parentheses and may hold anything: the state, and the parent.
  const [state = '', parent] = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  return { state, parent: Number(parent) };
}
