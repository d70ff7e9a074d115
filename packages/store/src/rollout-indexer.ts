import type { OperationRunner } from './operation-runner.ts';
import { hasRolloutsToIndex, indexRollouts } from './operations/rollouts/index-rollouts.ts';

/** Adds new rollouts to the full-text indexes in batches. */
export class RolloutIndexer {
  readonly #runner: OperationRunner;
  #isRunning = false;

  constructor(runner: OperationRunner) {
    this.#runner = runner;
  }

  /**
   * Indexes all pending rollouts in several transactions. Does nothing while another call is running. Errors are
   * swallowed: the next call retries, and rollouts are found without the index until then.
   */
  async run(signal: AbortSignal): Promise<void> {
    if (this.#isRunning) return;
    this.#isRunning = true;
    try {
      let isMore = await this.#runner.read(hasRolloutsToIndex);
      while (isMore && !signal.aborted) isMore = (await this.#runner.write(indexRollouts)) > 0;
    } catch {
      // A full disk or a locked file: the next write of a caller reports it.
    } finally {
      this.#isRunning = false;
    }
  }
}
