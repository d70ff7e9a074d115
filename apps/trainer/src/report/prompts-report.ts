import { styleText } from 'node:util';
import type { JudgedPrompts } from '@agentlightning/core/algorithm';
import { terminalText } from '@agentlightning/trace';
import { promptDiff } from '../prompt-search/prompt-diff.ts';
import type { PromptKinds } from '../prompt-search/prompts-file.ts';
import { textTable } from './text-formats.ts';

/** A table of prompt versions with their scores and parents. */
export function versionTable(versions: readonly JudgedPrompts[], best: string | null): string[] {
  const rows = versions.map(({ version, score, scoredTasks, parents }) => [
    version,
    score === null ? '-' : score.toFixed(3),
    String(scoredTasks),
    parents.join(' + ') || '-',
    version === best ? 'best' : '',
  ]);
  return textTable(['VERSION', 'SCORE', 'TASKS', 'MADE OF', ''], rows);
}

/** The differences between two versions, in colour if the terminal supports it. */
export function diffLines(from: JudgedPrompts, to: JudgedPrompts, kinds: PromptKinds): string[] {
  const diff = promptDiff(from, to, kinds);
  if (diff === '') return [`${from.version} and ${to.version} are equal.`];
  // Prompts are model output: control characters are removed.
  return diff
    .split('\n')
    .map(terminalText)
    .map((line) => {
      if (line.startsWith('+') && !line.startsWith('+++')) return styleText('green', line);
      if (line.startsWith('-') && !line.startsWith('---')) return styleText('red', line);
      return line;
    });
}

/** The rollouts of the examples of a version, by prompt. */
export function chosenExampleLines({ examples = {} }: JudgedPrompts): string[] {
  return Object.entries(examples).flatMap(([name, chosen]) => {
    const rows = chosen.map(({ task, reward, rolloutId }) => [String(task), reward.toFixed(2), rolloutId ?? '-']);
    return [
      '',
      `The examples of ${name} are these training rollouts:`,
      ...textTable(['TASK', 'REWARD', 'ROLLOUT'], rows),
    ];
  });
}
