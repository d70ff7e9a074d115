import type { OperationRunner } from './operation-runner.ts';
import { hasRolloutsToIndex, indexRollouts } from './operations/index-rollouts.ts';

/** Puts new rollouts into the indices that take many at once. */
export class RolloutIndexer {
  readonly #runner: OperationRunner;
  #isAtWork = false;

  constructor(runner: OperationRunner) {
    this.#runner = runner;
  }

  /**
   * Goes on until nothing is left, and lets others go first in between. A second round does nothing while one is under
   * way. One that fails is made up for by the next: until then rollouts are found without the index.
   */
  async round(signal: AbortSignal): Promise<void> {
    if (this.#isAtWork) return;
    this.#isAtWork = true;
    try {
      let isMore = await this.#runner.read(hasRolloutsToIndex);
      while (isMore && !signal.aborted) isMore = (await this.#runner.write(indexRollouts)) > 0;
    } catch {
      // A full disk, or a file that somebody holds: whoever writes next is told.
    } finally {
      this.#isAtWork = false;
    }
  }
}
