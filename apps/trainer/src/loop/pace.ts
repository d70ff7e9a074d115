/** Tells how long the remaining steps will take, from a moving average of the last ones. */
export class Pace {
  readonly #steps: number;
  #secondsPerStep: number | null = null;

  /** @param steps - how many there are in all */
  constructor(steps: number) {
    this.#steps = steps;
  }

  /** Notes how long a step took; the seconds that the steps after it will take. */
  secondsLeft(step: number, seconds: number): number {
    this.#secondsPerStep = this.#secondsPerStep === null ? seconds : 0.7 * this.#secondsPerStep + 0.3 * seconds;
    return (this.#steps - step) * this.#secondsPerStep;
  }
}
