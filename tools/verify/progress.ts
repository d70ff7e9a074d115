import { styleText } from 'node:util';
import type { Step, StepContext, StepResult, VerifyScope } from './step.ts';

/** A step that has run. */
export interface FinishedStep {
  readonly step: Step;
  readonly result: StepResult;
  readonly seconds: number;
}

/** How long a silent step may be silent in a log before it says that it is still there, in milliseconds. */
const heartbeatMs = 20_000;

/**
 * Runs one step and shows it: a live line on a terminal, plain lines elsewhere.
 *
 * @param step what to run
 * @param scope how much the step checks
 * @param output where to write, normally `process.stdout`
 */
export async function runStep(step: Step, scope: VerifyScope, output: NodeJS.WriteStream): Promise<FinishedStep> {
  const startedAt = performance.now();
  const seconds = (): number => (performance.now() - startedAt) / 1000;
  let flashed = '';
  const draw = (): void => {
    if (!output.isTTY) return;
    const room = Math.max(0, output.columns - step.name.length - 4);
    const detail = `${seconds().toFixed(0)} s  ${flashed}`.slice(0, room);
    output.write(`\r\u001b[2K  ${step.name} ${styleText('dim', detail)}`);
  };
  const clear = (): void => {
    if (output.isTTY) output.write('\r\u001b[2K');
  };
  const timer = setInterval(
    () =>
      output.isTTY ? draw() : output.write(`  … ${step.name}, ${seconds().toFixed(0)} s${flashed && `: ${flashed}`}\n`),
    output.isTTY ? 250 : heartbeatMs,
  );
  const context: StepContext = {
    scope,
    report: (line) => {
      clear();
      flashed = '';
      output.write(`    ${styleText('dim', line)}\n`);
      draw();
    },
    flash: (text) => {
      flashed = text.trim();
    },
  };
  draw();
  const result = await runSafely(step, context);
  clearInterval(timer);
  clear();
  const finished: FinishedStep = { step, result, seconds: seconds() };
  output.write(`${summaryLine(finished)}\n`);
  return finished;
}

/** Shows the whole output of every step that failed, and what to run to see it again. */
export function showFailures(finished: readonly FinishedStep[], output: NodeJS.WriteStream): void {
  for (const { step, result } of finished.filter(({ result }) => result.failed > 0)) {
    output.write(`\n${styleText(['red', 'bold'], `✘ ${step.name}: ${step.description}`)}\n\n${result.output}\n`);
    output.write(`\nAgain, only this: pnpm verify ${step.name}\n`);
  }
}

function summaryLine({ step, result, seconds }: FinishedStep): string {
  const mark = result.failed === 0 ? styleText('green', '✔') : styleText('red', '✘');
  const remark = result.failed === 0 ? (result.remark ?? '') : `${result.failed} failed`;
  return `${mark} ${step.name.padEnd(10)} ${step.description.padEnd(42)} ${remark.padEnd(14)} ${seconds.toFixed(1).padStart(6)} s`;
}

async function runSafely(step: Step, context: StepContext): Promise<StepResult> {
  try {
    return await step.run(context);
  } catch (error) {
    return { passed: 0, failed: 1, output: error instanceof Error ? (error.stack ?? error.message) : String(error) };
  }
}
