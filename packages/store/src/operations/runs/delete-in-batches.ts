import type { DeletionCounts } from '@agentlightning/core/store';
import type { OperationContext, OperationRunner } from '../../sql/operation-runner.ts';
import { findResponse, type IdempotentRequest, recordResponse } from '../records/run-idempotent.ts';
import { addDeletions, nothingDeleted } from '../rollouts/delete-rollouts.ts';
import type { DeletionBatch } from './delete-run.ts';

/** A deletion in several transactions. */
export interface BatchedDeletion {
  readonly deleteBatch: (context: OperationContext) => Promise<DeletionBatch>;
  /** Whether the store is closing, which stops the deletion. */
  readonly isClosing: () => boolean;
  /** Makes the deletion idempotent. */
  readonly request?: IdempotentRequest | undefined;
}

/** Deletes batches in separate transactions and yields to other transactions in between. */
export async function deleteInBatches(runner: OperationRunner, deletion: BatchedDeletion): Promise<DeletionCounts> {
  const { deleteBatch, isClosing, request } = deletion;
  let total = nothingDeleted;
  while (!isClosing()) {
    const before = total;
    const { counts, isOver } = await runner.write(async (context) => {
      const known = await findCompletedDeletion(context, request);
      if (known !== null) return { counts: known, isOver: true };
      const batch = await deleteBatch(context);
      const sum = addDeletions(before, batch.deleted);
      // In the transaction of the last batch: a retry returns the total or completes the deletion.
      if (batch.isOver && request !== undefined) await recordResponse(context, request, JSON.stringify(sum));
      return { counts: sum, isOver: batch.isOver };
    });
    total = counts;
    if (isOver) break;
  }
  return total;
}

/** Returns the result of a completed deletion; null when the request is new or incomplete. */
export async function findCompletedDeletion(
  context: OperationContext,
  request: IdempotentRequest | undefined,
): Promise<DeletionCounts | null> {
  const known = request === undefined ? null : await findResponse(context, request);
  // Trusted: the same request stored it.
  return known === null ? null : (JSON.parse(known) as DeletionCounts);
}
