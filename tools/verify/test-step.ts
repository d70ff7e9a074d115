import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { runCommand } from './run-command.ts';
import type { Step, StepContext, StepResult } from './step.ts';

/** Limit for all tests, in milliseconds. */
const testTimeoutMs = 60 * 60_000;

/** Leaves out the tests tagged `long`. */
const shortTests = '--tags-filter=!long';

/** The parts of vitest's JSON report that are read here. */
interface TestReport {
  readonly numPassedTests: number;
  readonly numFailedTests: number;
  readonly numPendingTests: number;
  readonly testResults: readonly { readonly status: string; readonly assertionResults: readonly unknown[] }[];
}

/** Runs the tests of the workspace; without `--all` those that are not tagged `long`. Each test counts. */
export const testStep: Step = {
  name: 'tests',
  description: 'unit, contract and end-to-end tests',
  after: ['build', 'python'],
  run: runTests,
};

async function runTests(context: StepContext): Promise<StepResult> {
  const folder = await mkdtemp(join(tmpdir(), 'agentlightning-verify-'));
  const reportFile = join(folder, 'tests.json');
  try {
    const { isOk, output } = await runCommand(
      [
        'vitest',
        'run',
        '--reporter=default',
        '--reporter=json',
        `--outputFile.json=${reportFile}`,
        ...(context.scope === 'short' ? [shortTests] : []),
      ],
      { timeoutMs: testTimeoutMs, env: { CI: '1' }, onLine: (line) => showLine(line, context) },
    );
    const report = await readFile(reportFile, 'utf8').catch(() => null);
    // Without a report vitest was stopped or crashed: the end of its output says why.
    if (report === null) return { passed: 0, failed: 1, remark: 'no report', output };
    return countTests(JSON.parse(report) as TestReport, { isOk, output });
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

/** Reports a finished test file on its own line; other output is only flashed. */
function showLine(line: string, { report, flash }: StepContext): void {
  if (/^ [✓❯×↓] \|?\S+\|? .*\(\d+ tests?/.test(line)) report(line.trim());
  else if (line.trim() !== '') flash(line);
}

function countTests(report: TestReport, run: { readonly isOk: boolean; readonly output: string }): StepResult {
  // A file that cannot be loaded has no tests to fail, and an unhandled error fails the run but no test.
  const brokenFiles = report.testResults.filter(
    ({ status, assertionResults }) => status === 'failed' && assertionResults.length === 0,
  ).length;
  const counted = report.numFailedTests + brokenFiles;
  const failed = !run.isOk && counted === 0 ? 1 : counted;
  const skipped = report.numPendingTests > 0 ? `, ${report.numPendingTests} skipped` : '';
  const remark = `${report.numPassedTests} tests${skipped}`;
  return { passed: report.numPassedTests, failed, remark, output: run.output };
}
