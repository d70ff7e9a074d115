import { hash } from 'node:crypto';
import { ValidationError } from '@agentlightning/core';
import { strictHeader } from '@agentlightning/core/protocol';
import type { Context } from 'hono';
import type { IdempotentRequest } from '../operations/run-idempotent.ts';
import type { SqlStore } from '../sql-store.ts';
import type { SqlStoreOperations, StoreTransaction } from '../sql-store-operations.ts';

const longestKey = 255;

/**
 * Does what a request asks for; once, when it carries an `Idempotency-Key`, however often it is sent. A client that does
 * not ask for the checks of this store gets those of the Agent Lightning 0.3 protocol.
 */
export async function doOnce<TResponse extends object>(
  context: Context,
  store: SqlStore,
  work: (store: StoreTransaction) => Promise<TResponse>,
): Promise<TResponse> {
  const request = await idempotentRequest(context);
  const isStrict = context.req.header(strictHeader) !== undefined;
  const doWork = (operations: SqlStoreOperations): Promise<TResponse> =>
    work(isStrict ? operations : operations.lenient());
  return request === undefined ? doWork(store) : store.once(request, doWork);
}

/**
 * What identifies a request that carries an `Idempotency-Key`.
 *
 * @throws ValidationError when the key is empty or too long
 */
export async function idempotentRequest(context: Context): Promise<IdempotentRequest | undefined> {
  const key = context.req.header('idempotency-key');
  if (key === undefined) return undefined;
  if (key === '' || key.length > longestKey) {
    throw new ValidationError('Request', [
      { path: 'idempotency-key', message: `must have 1 to ${longestKey} characters, got ${key.length}` },
    ]);
  }
  const request = `${context.req.method} ${context.req.path}\n${await context.req.text()}`;
  return { key, requestHash: hash('sha256', request, 'base64url') };
}
