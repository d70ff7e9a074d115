import { hash } from 'node:crypto';
import { ValidationError } from '@agentlightning/core';
import { headerNames } from '@agentlightning/core/protocol';
import type { Context } from 'hono';
import type { IdempotentRequest } from '../operations/records/run-idempotent.ts';
import type { StoreTransaction } from '../sql/store-transaction.ts';
import type { SqlStore } from '../sql-store.ts';
import type { SqlStoreOperations } from '../sql-store-operations.ts';

const maxKeyLength = 255;

/**
 * Executes a request, at most once if it has an `Idempotency-Key`. Requests without the strict header get the lenient
 * semantics of the Agent Lightning 0.3 protocol.
 */
export async function doOnce<TResponse extends object>(
  context: Context,
  store: SqlStore,
  work: (store: StoreTransaction) => Promise<TResponse>,
): Promise<TResponse> {
  const request = await idempotentRequest(context);
  const isStrict = context.req.header(headerNames.strict) !== undefined;
  const run = (operations: SqlStoreOperations): Promise<TResponse> =>
    work(isStrict ? operations : operations.lenient());
  return request === undefined ? run(store) : store.once(request, run);
}

/**
 * Returns the identity of a request with an `Idempotency-Key`.
 *
 * @throws ValidationError when the key is empty or too long
 */
export async function idempotentRequest(context: Context): Promise<IdempotentRequest | undefined> {
  const key = context.req.header('idempotency-key');
  if (key === undefined) return undefined;
  if (key === '' || key.length > maxKeyLength) {
    throw new ValidationError('Request', [
      { path: 'idempotency-key', message: `must have 1 to ${maxKeyLength} characters, got ${key.length}` },
    ]);
  }
  const request = `${context.req.method} ${context.req.path}\n${await context.req.text()}`;
  return { key, requestHash: hash('sha256', request, 'base64url') };
}
