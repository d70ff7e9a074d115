import type { TrainingDatum } from '@agentlightning/core/training-runtime';
import type { Random } from '../src/random.ts';
import type { Transcript } from './corpus.ts';
import { toTrainingDatum } from './training-data.ts';

/** Batches drawn together, so that conversations of like length can share one: padding costs as much as text. */
const batchesInPool = 8;

/** Endless batches of made-up conversations. */
export class CorpusBatches {
  readonly #random: Random;
  readonly #batchSize: number;
  readonly #draw: (random: Random) => Transcript;
  #pool: TrainingDatum[][] = [];

  constructor(random: Random, batchSize: number, draw: (random: Random) => Transcript) {
    this.#random = random;
    this.#batchSize = batchSize;
    this.#draw = draw;
  }

  /** The next batch; the weights make its loss the mean over trained tokens. */
  next(): TrainingDatum[] {
    if (this.#pool.length === 0) this.#pool = this.#drawPool();
    const [batch = []] = this.#pool.splice(this.#random.nextInteger(this.#pool.length), 1);
    const tokens = batch.reduce((sum, datum) => sum + datum.weights.length, 0);
    for (const datum of batch) datum.weights.fill(1 / tokens);
    return batch;
  }

  #drawPool(): TrainingDatum[][] {
    const data = Array.from({ length: this.#batchSize * batchesInPool }, () =>
      toTrainingDatum(this.#draw(this.#random)),
    ).sort((a, b) => a.tokenIds.length - b.tokenIds.length);
    return Array.from({ length: batchesInPool }, (_, index) =>
      data.slice(index * this.#batchSize, (index + 1) * this.#batchSize),
    );
  }
}
