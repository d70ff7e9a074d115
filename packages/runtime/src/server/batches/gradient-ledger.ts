import { ErrorReason } from '../../gen/agentlightning/runtime/v1/error_pb.ts';
import { RuntimeError } from '../../runtime-error.ts';

/**
 * The batches in a model's accumulated gradients since the last step, and the failed ones. A step must apply exactly
 * the intended batches, without those of an earlier session.
 */
export class GradientLedger {
  readonly #added = new Set<number>();
  readonly #missing = new Set<number>();

  /** True when unused gradients are accumulated. */
  get hasPending(): boolean {
    return this.#added.size > 0;
  }

  /** Records a batch whose gradients were added. */
  add(seq: number): void {
    this.#added.add(seq);
  }

  /** Records a batch that failed or was cancelled. */
  miss(seq: number): void {
    this.#missing.add(seq);
  }

  /** Clears the records: the gradients were applied or discarded. */
  clear(): void {
    this.#added.clear();
    this.#missing.clear();
  }

  /**
   * The reason to reject a step that requires these batches; null when it is valid. An empty list accepts all batches.
   */
  whyNot(requiredSeqs: readonly number[]): RuntimeError | null {
    const [missing] = this.#missing;
    if (missing !== undefined) {
      return refusal(`Operation ${missing}, a batch since the last step, did not succeed`);
    }
    const absent = requiredSeqs.find((seq) => !this.#added.has(seq));
    if (absent !== undefined) {
      return refusal(`Operation ${absent} is required but is not a batch since the last step`);
    }
    const foreign = requiredSeqs.length === 0 ? undefined : [...this.#added].find((seq) => !requiredSeqs.includes(seq));
    if (foreign !== undefined) {
      return refusal(`Operation ${foreign}, a batch since the last step, is not required by the step`);
    }
    if (this.#added.size === 0) return refusal('No gradients are accumulated');
    return null;
  }
}

function refusal(what: string): RuntimeError {
  return new RuntimeError({
    reason: ErrorReason.PRECONDITION,
    message: `${what}; the step was not taken, and accumulated gradients were discarded`,
    remedy: 'Send the batches again, then the step.',
    gradientsDiscarded: true,
  });
}
