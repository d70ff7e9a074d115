import process from 'node:process';
import { AgentLightningError } from '@agentlightning/core';
import { hasTextsToIndex } from './operations/records/text-index-queue.ts';
import { hasRolloutsToIndex, indexRollouts } from './operations/rollouts/index-rollouts.ts';
import { indexTexts, nextText, removeRequest } from './operations/spans/index-rollout-texts.ts';
import type { OperationRunner } from './sql/operation-runner.ts';

/**
 * Adds new rollouts and the texts of finished ones to the full-text indexes in batches. Errors (a full disk, a locked file)
 * are swallowed: the next write of a caller reports them, and the next call retries.
 */
export class RolloutIndexer {
  readonly #runner: OperationRunner;
  #isRunning = false;
  #texts: Promise<void> | null = null;
  /** Whether a batch failed: the next ones have one text, to find the one that caused it. */
  #isSearchingError = false;

  constructor(runner: OperationRunner) {
    this.#runner = runner;
  }

  /**
   * Indexes all new rollouts in several transactions, and one batch of texts. Does nothing while another call is running.
   * Rollouts are found without the index until then; texts are not.
   */
  async run(signal: AbortSignal): Promise<void> {
    if (this.#isRunning) return;
    this.#isRunning = true;
    try {
      let isMore = await this.#runner.read(hasRolloutsToIndex);
      while (isMore && !signal.aborted) isMore = (await this.#runner.write(indexRollouts)) > 0;
      await this.indexTexts(1);
    } catch {
      // See the class.
    } finally {
      this.#isRunning = false;
    }
  }

  /** Indexes up to a number of batches of texts of about 256 KiB each, or one larger text in steps, after those of calls that are already running. */
  async indexTexts(batches: number): Promise<void> {
    while (this.#texts !== null) await this.#texts;
    const ended = (): void => {
      this.#texts = null;
    };
    this.#texts = this.#indexTexts(batches).then(ended, ended);
    await this.#texts;
  }

  async #indexTexts(batches: number): Promise<void> {
    for (let batch = 0; batch < batches; batch += 1) {
      if (!(await this.#runner.read(hasTextsToIndex))) return;
      await this.#indexBatch();
    }
  }

  /** A text that cannot be indexed is set aside and reported: it would delay all others for ever. */
  async #indexBatch(): Promise<void> {
    const position = this.#isSearchingError ? await this.#runner.read(nextText) : null;
    try {
      await indexTexts(this.#runner, this.#isSearchingError ? 1 : undefined);
      this.#isSearchingError = false;
    } catch (error) {
      if (AgentLightningError.isInstance(error) && error.code !== 'VALIDATION') throw error;
      if (position !== null) {
        await this.#runner.write((context) => removeRequest(context, position));
        process.emitWarning(
          `The text of the rollout at position ${position} is not found by searches: ${String(error)}`,
        );
      }
      this.#isSearchingError = true;
    }
  }
}
