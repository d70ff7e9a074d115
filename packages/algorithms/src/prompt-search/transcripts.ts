import type { TriedTask } from '@agentlightning/core/algorithm';

/** Transcripts of tasks, in ascending order of reward: failures are the most informative. */
export function transcriptsText(tried: readonly TriedTask[]): string {
  return tried
    .toSorted((one, other) => (one.reward ?? Infinity) - (other.reward ?? Infinity))
    .map(({ transcript, reward }, index) => {
      const judged = reward === null ? 'not judged' : `reward ${reward}`;
      return `--- attempt ${index + 1} (${judged}) ---\n${transcript}`;
    })
    .join('\n\n');
}
