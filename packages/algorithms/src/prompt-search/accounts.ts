import type { TriedTask } from '@agentlightning/core/algorithm';

/** What happened on some tasks, one after the other, the worst first: that is where there is most to learn. */
export function accountsText(tried: readonly TriedTask[]): string {
  return tried
    .toSorted((one, other) => (one.reward ?? Infinity) - (other.reward ?? Infinity))
    .map(({ account, reward }, index) => {
      const judged = reward === null ? 'not judged' : `reward ${reward}`;
      return `--- attempt ${index + 1} (${judged}) ---\n${account}`;
    })
    .join('\n\n');
}
