import { readdir, readFile } from 'node:fs/promises';

/** A process and all those that it started, and those that they started, as Linux lists them under `/proc`. */
export async function processTree(root: number): Promise<readonly number[]> {
  const childrenOf = new Map<number, number[]>();
  for (const entry of await readdir('/proc')) {
    if (!/^\d+$/.test(entry)) continue;
    const stat = await readFile(`/proc/${entry}/stat`, 'utf8').catch(() => '');
    // After the name, which is in parentheses and may hold anything: the state, and the parent.
    const parent = Number(stat.slice(stat.lastIndexOf(')') + 2).split(' ')[1]);
    childrenOf.set(parent, [...(childrenOf.get(parent) ?? []), Number(entry)]);
  }
  const tree = [root];
  for (const pid of tree) tree.push(...(childrenOf.get(pid) ?? []));
  return tree;
}
