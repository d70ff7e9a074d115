import { runCommand } from './run-command.ts';
import type { Step, StepResult } from './step.ts';

/** Commits up to this one predate the convention. */
const lastUnconventionalCommit = 'cceb1f08';

/** Checks the messages of all commits since the convention was adopted (commitlint.config.js). */
export const commitStep: Step = {
  name: 'commits',
  description: 'Conventional Commits (commitlint)',
  run: checkCommits,
};

async function checkCommits(): Promise<StepResult> {
  const inHistory = await runCommand(['git', 'merge-base', '--is-ancestor', lastUnconventionalCommit, 'HEAD']);
  // A shallow clone lacks the history: its newest commit is checked.
  const range = inHistory.isOk ? ['--from', lastUnconventionalCommit] : ['--last'];
  const { isOk, output } = await runCommand(['commitlint', ...range]);
  return { passed: isOk ? 1 : 0, failed: isOk ? 0 : 1, output };
}
