import { readdir, readFile } from 'node:fs/promises';
import { setTimeout } from 'node:timers/promises';

/** Polling interval for the exit of a process, in milliseconds. */
const pollIntervalMs = 2;

/** Kills a process and its descendants (from Linux's `/proc`) and waits for their exit. */
export async function killTree(root: number): Promise<void> {
  // Stopped first: it must not start processes during the enumeration.
  process.kill(root, 'SIGSTOP');
  const tree = await processTree(root);
  for (const pid of tree) {
    // A process may have exited meanwhile.
    if (await isAlive(pid)) process.kill(pid, 'SIGKILL');
  }
  for (const pid of tree) {
    while (await isAlive(pid)) await setTimeout(pollIntervalMs);
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

/** Whether a process is running and not a zombie. */
async function isAlive(pid: number): Promise<boolean> {
  const status = await statusOf(pid);
  return status !== null && status.state !== 'Z' && status.state !== 'X';
}

async function statusOf(pid: number): Promise<{ readonly state: string; readonly parent: number } | null> {
  const stat = await readFile(`/proc/${pid}/stat`, 'utf8').catch(() => null);
  if (stat === null) return null;
  // After the name, which is in parentheses and may contain anything: state and parent.
  const [state = '', parent] = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  return { state, parent: Number(parent) };
}
