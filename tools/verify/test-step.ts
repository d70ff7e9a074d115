import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, relative } from 'node:path';
import { runCommand } from './run-command.ts';
import type { Step, StepContext, StepResult } from './step.ts';

/** Limit for all tests, in milliseconds. */
const testTimeoutMs = 60 * 60_000;

/** Leaves out the tests tagged `long`. */
const shortTests = '--tags-filter=!long';

/** More failed files than this are not a matter of timing: they are not repeated. */
const maxRepeatedFiles = 5;

/** The parts of vitest's JSON report that are read here. */
interface TestReport {
  readonly numPassedTests: number;
  readonly numPendingTests: number;
  readonly testResults: readonly TestFile[];
}

interface TestFile {
  readonly name: string;
  readonly status: string;
  readonly assertionResults: readonly { readonly status: string; readonly fullName: string }[];
}

interface TestRun {
  /** `undefined` when vitest was stopped or crashed. */
  readonly report?: TestReport;
  readonly isOk: boolean;
  readonly output: string;
}

/**
 * Runs the tests of the workspace; without `--all` those that are not tagged `long`. Each test counts. Files with a failed test
 * are run once more, alone: a test that passes then is counted as passed and named as flaky.
 */
export const testStep: Step = {
  name: 'tests',
  description: 'unit, contract and end-to-end tests',
  after: ['build', 'python'],
  run: runTests,
};

async function runTests(context: StepContext): Promise<StepResult> {
  const first = await runVitest([], context);
  // Without a report the end of the output says why.
  if (first.report === undefined) return { passed: 0, failed: 1, remark: 'no report', output: first.output };
  const failed = failuresOf(first.report);
  const files = first.report.testResults.filter(({ status }) => status === 'failed').map(({ name }) => name);
  if (failed.length === 0 || files.length > maxRepeatedFiles) {
    return summarize(first.report, first, { failed, flaky: [] });
  }
  const second = await runVitest(files, context);
  const stillFailing = second.report === undefined ? failed : failuresOf(second.report);
  const flaky = failed.filter((name) => !stillFailing.includes(name));
  // An unhandled error of the first run can belong to the tests that failed then.
  return summarize(first.report, second, { failed: stillFailing, flaky });
}

async function runVitest(files: readonly string[], context: StepContext): Promise<TestRun> {
  const folder = await mkdtemp(join(tmpdir(), 'agentlightning-verify-'));
  const reportFile = join(folder, 'tests.json');
  try {
    const { isOk, output } = await runCommand(
      [
        'vitest',
        'run',
        ...files,
        '--reporter=default',
        '--reporter=json',
        `--outputFile.json=${reportFile}`,
        ...(context.scope === 'short' ? [shortTests] : []),
      ],
      { timeoutMs: testTimeoutMs, env: { CI: '1' }, onLine: (line) => showLine(line, context) },
    );
    const report = await readFile(reportFile, 'utf8').catch(() => null);
    return report === null ? { isOk, output } : { isOk, output, report: JSON.parse(report) as TestReport };
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

/** Reports a finished test file on its own line; other output is only flashed. */
function showLine(line: string, { report, flash }: StepContext): void {
  if (/^ [✓❯×↓] \|?\S+\|? .*\(\d+ tests?/.test(line)) report(line.trim());
  else if (line.trim() !== '') flash(line);
}

/** The failed tests, by file and name. A file that cannot be loaded has no tests to fail and stands for itself. */
function failuresOf({ testResults }: TestReport): readonly string[] {
  return testResults
    .filter(({ status }) => status === 'failed')
    .flatMap(({ name, assertionResults }) => {
      const tests = assertionResults.filter(({ status }) => status === 'failed');
      const file = relative(process.cwd(), name);
      return tests.length === 0 ? [file] : tests.map(({ fullName }) => `${file}: ${fullName}`);
    });
}

function summarize(
  report: TestReport,
  run: TestRun,
  tests: { readonly failed: readonly string[]; readonly flaky: readonly string[] },
): StepResult {
  const passed = report.numPassedTests + tests.flaky.length;
  // An unhandled error fails the run but no test.
  const failed = !run.isOk && tests.failed.length === 0 ? 1 : tests.failed.length;
  const skipped = report.numPendingTests > 0 ? `, ${report.numPendingTests} skipped` : '';
  const flaky = tests.flaky.map((name) => `, passed only when repeated: ${name}`).join('');
  return { passed, failed, remark: `${passed} tests${skipped}${flaky}`, output: run.output };
}
