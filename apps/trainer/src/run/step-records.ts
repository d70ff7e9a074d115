import type { Store } from '@agentlightning/core';

/** The recorded metrics of a step. */
export interface StepRecord {
  readonly step: number;
  readonly values: Readonly<Record<string, number>>;
  /** The first failure of an agent in the step. @default none */
  readonly failure?: string | null;
}

/** Number of first and of last steps that are kept: a diagnosis compares the last steps with the first. */
const edge = 100;

/** The first and the last finished steps of a run, in order: its length does not grow with that of the run. */
export class StepRecords {
  readonly #first: StepRecord[] = [];
  readonly #last: StepRecord[] = [];

  constructor(steps: readonly StepRecord[] = []) {
    for (const step of steps) this.add(step);
  }

  /** The steps that are kept. */
  get steps(): readonly StepRecord[] {
    return [...this.#first, ...this.#last];
  }

  /** Adds the next finished step. */
  add(step: StepRecord): void {
    if (this.#first.length < edge) this.#first.push(step);
    else this.#last.push(step);
    if (this.#last.length > edge) this.#last.shift();
  }
}

/**
 * Reads the records of a run, or of its present stage, that resumes after a step. Later steps, of an interrupted process, are
 * repeated.
 *
 * @param steps.firstStep - the number of steps of the stages before
 */
export async function readStepRecords(
  store: Store,
  runId: string,
  { firstStep, finishedStep }: { readonly firstStep: number; readonly finishedStep: number },
): Promise<StepRecords> {
  if (finishedStep === firstStep) return new StepRecords();
  const parts = [
    { offset: firstStep, limit: edge },
    { offset: Math.max(firstStep + edge, finishedStep - edge), limit: edge + 1 },
  ];
  const pages = await Promise.all(parts.map((part) => store.queryMetrics(runId, part)));
  const steps = pages.flatMap(({ items }) => items);
  return new StepRecords(steps.filter(({ step }) => step > firstStep && step <= finishedStep));
}
