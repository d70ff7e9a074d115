import { AgentLightningError } from '@agentlightning/core';
import type { OperationContext } from '../../sql/operation-runner.ts';
import { readText } from '../../sql/row-value.ts';

/** Identifies a request that may be retried. */
export interface IdempotentRequest {
  /** Chosen by the client; the same for all retries of a request. */
  readonly key: string;
  /** Hash of the request; detects reuse of a key for another request. */
  readonly requestHash: string;
}

/** Retention of responses in milliseconds: far longer than clients retry. */
const responseLifetimeMs = 3_600_000;

/**
 * Returns the stored response to a request; null for a new request.
 *
 * @throws AgentLightningError CONFLICT when the key was used for another request
 */
export async function findResponse(context: OperationContext, request: IdempotentRequest): Promise<string | null> {
  const [row] = await context.db.all(
    'SELECT request_hash, response FROM idempotent_responses WHERE idempotency_key = ?',
    [request.key],
  );
  if (row === undefined) return null;
  if (readText(row, 'request_hash') !== request.requestHash) {
    throw new AgentLightningError({
      code: 'CONFLICT',
      message: `Idempotency key ${request.key} was used for another request`,
      details: { key: request.key },
    });
  }
  return readText(row, 'response');
}

/** Stores the response to a request, in the transaction of its effect. */
export async function recordResponse(
  context: OperationContext,
  request: IdempotentRequest,
  response: string,
): Promise<void> {
  await context.db.run(
    'INSERT INTO idempotent_responses (idempotency_key, request_hash, response, create_time_ms) VALUES (?, ?, ?, ?)',
    [request.key, request.requestHash, response, context.nowMs],
  );
}

/**
 * Executes a request, or returns its stored response when it was executed before.
 *
 * @throws AgentLightningError CONFLICT when the key was used for another request
 */
export async function runIdempotent<TResponse extends object>(
  context: OperationContext,
  request: IdempotentRequest,
  work: () => Promise<TResponse>,
): Promise<TResponse> {
  const known = await findResponse(context, request);
  // Trusted: the same request stored it as this type.
  if (known !== null) return JSON.parse(known) as TResponse;
  const response = await work();
  await recordResponse(context, request, JSON.stringify(response));
  return response;
}

/** Deletes expired responses. */
export async function deleteExpiredResponses(context: OperationContext): Promise<number> {
  return context.db.run('DELETE FROM idempotent_responses WHERE create_time_ms < ?', [
    context.nowMs - responseLifetimeMs,
  ]);
}
