/** Estimates the remaining time of a run from a moving average of step durations. */
export class TimeEstimate {
  readonly #steps: number;
  #secondsPerStep: number | null = null;

  /** @param steps - the total number of steps */
  constructor(steps: number) {
    this.#steps = steps;
  }

  /** Records the duration of a step, and returns the estimated duration of the steps after it, in seconds. */
  secondsLeft(step: number, seconds: number): number {
    this.#secondsPerStep = this.#secondsPerStep === null ? seconds : 0.7 * this.#secondsPerStep + 0.3 * seconds;
    return (this.#steps - step) * this.#secondsPerStep;
  }
}
