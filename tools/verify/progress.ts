import { styleText } from 'node:util';
import type { Step, StepContext, StepResult, VerifyScope } from './step.ts';

/** A step that has run. */
export interface FinishedStep {
  readonly step: Step;
  readonly result: StepResult;
  readonly seconds: number;
}

/** Interval of heartbeat lines for a step without output in a log, in milliseconds. */
const heartbeatMs = 20_000;

/** Runs steps and shows them: one live line for all that run on a terminal, plain lines elsewhere. */
export class StepProgress implements Disposable {
  readonly #output: NodeJS.WriteStream;
  readonly #running = new Map<Step, { readonly startedAt: number; flashed: string }>();
  readonly #timer: NodeJS.Timeout;

  /** @param output where to write, normally `process.stdout` */
  constructor(output: NodeJS.WriteStream) {
    this.#output = output;
    this.#timer = setInterval(
      () => (output.isTTY ? this.#draw() : this.#writeHeartbeats()),
      output.isTTY ? 250 : heartbeatMs,
    );
  }

  /** Runs one step in the given scope and writes its summary; a step that throws has failed. */
  async run(step: Step, scope: VerifyScope): Promise<FinishedStep> {
    const startedAt = performance.now();
    const state = { startedAt, flashed: '' };
    this.#running.set(step, state);
    this.#draw();
    const result = await runSafely(step, {
      scope,
      report: (line) => {
        state.flashed = '';
        this.#write(`    ${styleText('dim', line)}`);
      },
      flash: (text) => {
        state.flashed = text.trim();
      },
    });
    this.#running.delete(step);
    const finished: FinishedStep = { step, result, seconds: secondsSince(startedAt) };
    this.#write(summaryLine(finished));
    return finished;
  }

  [Symbol.dispose](): void {
    clearInterval(this.#timer);
    this.#clear();
  }

  #write(line: string): void {
    this.#clear();
    this.#output.write(`${line}\n`);
    this.#draw();
  }

  #clear(): void {
    if (this.#output.isTTY) this.#output.write('\r\u001b[2K');
  }

  #draw(): void {
    if (!this.#output.isTTY) return;
    const columns = Math.floor((this.#output.columns - 2) / Math.max(1, this.#running.size));
    const details = [...this.#running].map(([{ name }, { startedAt, flashed }]) => {
      const detail = `${secondsSince(startedAt).toFixed(0)} s  ${flashed}`.slice(
        0,
        Math.max(0, columns - name.length - 3),
      );
      return `${name} ${styleText('dim', detail)}`;
    });
    this.#clear();
    this.#output.write(`  ${details.join('  ')}`);
  }

  #writeHeartbeats(): void {
    for (const [{ name }, { startedAt, flashed }] of this.#running) {
      this.#output.write(`  … ${name}, ${secondsSince(startedAt).toFixed(0)} s${flashed && `: ${flashed}`}\n`);
    }
  }
}

function secondsSince(startedAt: number): number {
  return (performance.now() - startedAt) / 1000;
}

/** Shows the output of every failed step, and the command that repeats it. */
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
