import type { TrainingExample } from './training-example.ts';

/**
 * Examples of one pass through the model, in which a beginning that several of them share stands once: the depth-first order of the
 * tree of their tokens. A token attends to the path from the root to itself, so each example is computed as if it were alone.
 */
export interface MicroBatch {
  readonly tokens: readonly number[];
  /** The position of each token in its example. */
  readonly depths: readonly number[];
  readonly members: readonly BatchMember[];
}

/** An example in a micro-batch. */
export interface BatchMember {
  readonly example: TrainingExample;
  /** The index in `tokens` of the token before each trained one of the example. */
  readonly contexts: readonly number[];
}

/** Tokens and trained tokens of a full micro-batch, shared ones counted once: some 50 ms of work between turns of the event loop. */
const sizeOfMicroBatch = 1024;

/**
 * Fills micro-batches with examples in the order of their tokens, since neighbours share most. The sum of their gradients does
 * not depend on the grouping. Examples without a trained token need no computation.
 */
export function planMicroBatches(examples: readonly TrainingExample[]): readonly MicroBatch[] {
  const batches: MicroBatch[] = [];
  let builder = new BatchBuilder();
  for (const example of examples.filter(({ trainedPositions }) => trainedPositions.length > 0).toSorted(byTokens)) {
    if (builder.sizeWith(example) > sizeOfMicroBatch) {
      if (builder.members.length > 0) batches.push(builder);
      builder = new BatchBuilder();
    }
    builder.add(example);
  }
  if (builder.members.length > 0) batches.push(builder);
  return batches;
}

/** Takes examples in the order of their tokens. */
class BatchBuilder implements MicroBatch {
  readonly tokens: number[] = [];
  readonly depths: number[] = [];
  readonly members: BatchMember[] = [];
  /** The indices of the last example's tokens. */
  #path: number[] = [];
  #trained = 0;

  /** The number of tokens and trained tokens with another example. */
  sizeWith(example: TrainingExample): number {
    const tokens = this.tokens.length + example.inputLength - this.#shared(example);
    return tokens + this.#trained + example.trainedPositions.length;
  }

  add(example: TrainingExample): void {
    const path = this.#path.slice(0, this.#shared(example));
    for (let position = path.length; position < example.inputLength; position++) {
      path.push(this.tokens.length);
      this.tokens.push(example.datum.tokenIds[position] ?? 0);
      this.depths.push(position);
    }
    this.#path = path;
    const contexts = example.trainedPositions.map((position) => path[position - 1] ?? 0);
    this.members.push({ example, contexts });
    this.#trained += contexts.length;
  }

  /** The number of first tokens that an example has in common with the last one. */
  #shared({ datum, inputLength }: TrainingExample): number {
    const longest = Math.min(this.#path.length, inputLength);
    let shared = 0;
    while (shared < longest && this.tokens[this.#path[shared] ?? 0] === datum.tokenIds[shared]) shared++;
    return shared;
  }
}

function byTokens(a: TrainingExample, b: TrainingExample): number {
  const longest = Math.min(a.inputLength, b.inputLength);
  for (let at = 0; at < longest; at++) {
    const difference = (a.datum.tokenIds[at] ?? 0) - (b.datum.tokenIds[at] ?? 0);
    if (difference !== 0) return difference;
  }
  return a.inputLength - b.inputLength || a.index - b.index;
}
