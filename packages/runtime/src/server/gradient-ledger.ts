import { ErrorReason } from '../gen/agentlightning/runtime/v1/error_pb.ts';
import { RuntimeError } from '../runtime-error.ts';

/**
 * Which batches of a model have gone into its gradients since the last step, and which should have
 * but did not. A step must never use half of what was meant, nor more, such as what an earlier session left.
 */
export class GradientLedger {
  readonly #added = new Set<number>();
  readonly #missing = new Set<number>();

  /** True when gradients are accumulated that no step has used. */
  get hasPending(): boolean {
    return this.#added.size > 0;
  }

  /** Notes a batch whose gradients were added. */
  add(seq: number): void {
    this.#added.add(seq);
  }

  /** Notes a batch that failed or was cancelled. */
  miss(seq: number): void {
    this.#missing.add(seq);
  }

  /** Forgets everything: the gradients were used or dropped. */
  clear(): void {
    this.#added.clear();
    this.#missing.clear();
  }

  /** Why a step that means to use these batches must not be taken; null when it may. No batch stands for all there are. */
  whyNot(requiredSeqs: readonly number[]): RuntimeError | null {
    const [missing] = this.#missing;
    if (missing !== undefined) {
      return refusal(`Operation ${missing}, a batch since the last step, did not succeed`);
    }
    const absent = requiredSeqs.find((seq) => !this.#added.has(seq));
    if (absent !== undefined) {
      return refusal(`Operation ${absent} is required but is no batch since the last step`);
    }
    const foreign = requiredSeqs.length === 0 ? undefined : [...this.#added].find((seq) => !requiredSeqs.includes(seq));
    if (foreign !== undefined) {
      return refusal(`Operation ${foreign}, a batch since the last step, is none that the step requires`);
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
