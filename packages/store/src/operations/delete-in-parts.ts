import type { DeletionCounts } from '@agentlightning/core/store';
import type { OperationContext } from '../operation.ts';
import type { OperationRunner } from '../operation-runner.ts';
import { findAnswer, type IdempotentRequest, recordAnswer } from './answer-once.ts';
import { addDeletions, nothingDeleted } from './delete-rollouts.ts';
import type { DeletionPart } from './delete-run.ts';

/** A deletion that goes in several transactions. */
export interface LongDeletion {
  readonly deletePart: (context: OperationContext) => Promise<DeletionPart>;
  /** Whether the store is closing: what is left then stays. */
  readonly isClosing: () => boolean;
  /** Makes a request that comes again get the same answer. */
  readonly request?: IdempotentRequest | undefined;
}

/** Deletes one part after another, each in a transaction of its own, and lets others go first in between. */
export async function deleteInParts(runner: OperationRunner, deletion: LongDeletion): Promise<DeletionCounts> {
  const { deletePart, isClosing, request } = deletion;
  let total = nothingDeleted;
  while (!isClosing()) {
    const before = total;
    const { answer, isOver } = await runner.write(async (context) => {
      const known = await knownDeletion(context, request);
      if (known !== null) return { answer: known, isOver: true };
      const part = await deletePart(context);
      const counts = addDeletions(before, part.deleted);
      // With the last part, so that whoever asks again is told the whole, or completes it.
      if (part.isOver && request !== undefined) await recordAnswer(context, request, JSON.stringify(counts));
      return { answer: counts, isOver: part.isOver };
    });
    total = answer;
    if (isOver) break;
  }
  return total;
}

/** What a deletion came to that was asked for before; null when it is new, or was not completed. */
export async function knownDeletion(
  context: OperationContext,
  request: IdempotentRequest | undefined,
): Promise<DeletionCounts | null> {
  const known = request === undefined ? null : await findAnswer(context, request);
  // Trusted: the same request wrote it.
  return known === null ? null : (JSON.parse(known) as DeletionCounts);
}
