import { AgentLightningError } from '@agentlightning/core';
import type { OperationContext } from '../operation.ts';
import { readText } from '../row-value.ts';

/** What identifies a request that may be sent more than once. */
export interface IdempotentRequest {
  /** Chosen by the client; the same for every try of one request. */
  readonly key: string;
  /** A fingerprint of the request, so that a key is not used for two different ones. */
  readonly requestHash: string;
}

/** How long an answer is kept for a client that asks again, in milliseconds: far longer than any client tries. */
const answerLifetimeMs = 3_600_000;

/**
 * Reads the answer that was given to a request before; null when it is new.
 *
 * @throws AgentLightningError CONFLICT when the key was used for another request
 */
export async function findAnswer(context: OperationContext, request: IdempotentRequest): Promise<string | null> {
  const [row] = await context.db.all('SELECT request_hash, answer FROM idempotent_answers WHERE idempotency_key = ?', [
    request.key,
  ]);
  if (row === undefined) return null;
  if (readText(row, 'request_hash') !== request.requestHash) {
    throw new AgentLightningError({
      code: 'CONFLICT',
      message: `Idempotency key ${request.key} was used for another request`,
      details: { key: request.key },
    });
  }
  return readText(row, 'answer');
}

/** Keeps the answer to a request, in the transaction that has its effect. */
export async function recordAnswer(
  context: OperationContext,
  request: IdempotentRequest,
  answer: string,
): Promise<void> {
  await context.db.run(
    'INSERT INTO idempotent_answers (idempotency_key, request_hash, answer, create_time_ms) VALUES (?, ?, ?, ?)',
    [request.key, request.requestHash, answer, context.nowMs],
  );
}

/**
 * Does something for a request unless it was done before, and gives back the answer of then.
 *
 * @throws AgentLightningError CONFLICT when the key was used for another request
 */
export async function answerOnce<TAnswer extends object>(
  context: OperationContext,
  request: IdempotentRequest,
  work: () => Promise<TAnswer>,
): Promise<TAnswer> {
  const known = await findAnswer(context, request);
  // Trusted: the same request wrote it, from a value of this type.
  if (known !== null) return JSON.parse(known) as TAnswer;
  const answer = await work();
  await recordAnswer(context, request, JSON.stringify(answer));
  return answer;
}

/** Forgets answers that nobody asks for any more. */
export async function forgetOldAnswers(context: OperationContext): Promise<number> {
  return context.db.run('DELETE FROM idempotent_answers WHERE create_time_ms < ?', [context.nowMs - answerLifetimeMs]);
}
