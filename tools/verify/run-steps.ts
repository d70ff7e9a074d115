import type { FinishedStep } from './progress.ts';
import type { Step } from './step.ts';

/** Options of running steps. */
export interface RunStepsOptions {
  /** Number of concurrent steps. */
  readonly concurrency: number;
  /** Runs one step; does not reject. */
  readonly run: (step: Step) => Promise<FinishedStep>;
}

/**
 * Runs all steps, several at a time. A step starts when those it needs have ended; an exclusive one starts when every step
 * listed before it has ended, and the steps listed after it wait for it. Otherwise steps start in the order of the list.
 *
 * @returns the finished steps in the order of the list
 */
export async function runSteps(
  steps: readonly Step[],
  { concurrency, run }: RunStepsOptions,
): Promise<readonly FinishedStep[]> {
  const finished = new Map<Step, FinishedStep>();
  const running = new Map<Step, Promise<void>>();
  const isReady = (step: Step): boolean => {
    const needed = steps.filter(({ name }) => step.after?.includes(name) === true);
    return needed.every((other) => finished.has(other));
  };
  const start = (step: Step): void => {
    const ended = run(step).then((result) => {
      finished.set(step, result);
      running.delete(step);
    });
    running.set(step, ended);
  };
  while (finished.size < steps.length) {
    for (const step of steps.filter((candidate) => !finished.has(candidate))) {
      if (step.isExclusive === true) {
        if (running.size === 0) start(step);
        break;
      }
      if (!running.has(step) && running.size < concurrency && isReady(step)) start(step);
    }
    await Promise.race(running.values());
  }
  return steps.flatMap((step) => finished.get(step) ?? []);
}
