import type { PromptVersion } from '../../src/api/prompt-views.ts';
import type { TaskMap } from '../../src/api/run-views.ts';

/** A version in the tree of its first parents. */
export interface PromptNode {
  readonly version: PromptVersion;
  /** 0 for a version without a parent. */
  readonly depth: number;
}

/** The versions, each below its first parent. A version whose parent is unknown is a root. */
export function promptTree(versions: readonly PromptVersion[]): readonly PromptNode[] {
  const known = new Set<string>();
  const children = new Map<string | null, PromptVersion[]>();
  for (const version of versions) {
    const [parent] = version.parents;
    // A parent is older than its versions, which excludes cycles.
    const key = parent !== undefined && known.has(parent) ? parent : null;
    children.set(key, [...(children.get(key) ?? []), version]);
    known.add(version.version);
  }
  const nodes: PromptNode[] = [];
  const pending = (children.get(null) ?? []).map((version): PromptNode => ({ version, depth: 0 })).reverse();
  for (let node = pending.pop(); node !== undefined; node = pending.pop()) {
    const { version, depth } = node;
    nodes.push(node);
    const below = children.get(version.version) ?? [];
    pending.push(...below.map((child): PromptNode => ({ version: child, depth: depth + 1 })).reverse());
  }
  return nodes;
}

/** The scores as a heat map: validation tasks by number of the version, in order of creation. */
export function scoreMap(versions: readonly PromptVersion[]): TaskMap {
  const tasks = Math.max(0, ...versions.map(({ taskScores }) => taskScores.length));
  const scores = versions.flatMap(({ taskScores }) => taskScores.filter((score) => score !== null));
  return {
    steps: versions.map((_, index) => index),
    tasks: Array.from({ length: tasks }, (_, taskIndex) => ({
      taskIndex,
      preview: '',
      text: '',
      cells: versions.map(({ taskScores }, step) => ({
        step,
        reward: taskScores[taskIndex] ?? null,
        spread: null,
        rollouts: 1,
        failed: 0,
      })),
    })),
    range: scores.length === 0 ? null : [Math.min(...scores), Math.max(...scores)],
  };
}
