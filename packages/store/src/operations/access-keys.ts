import { NotFoundError, ValidationError } from '@agentlightning/core';
import {
  type AccessKey,
  type AccessKeyRequest,
  type AccessScope,
  accessScopes,
  digestOf,
  type NewAccessKey,
  newAccessKey,
  type StoredAccessKey,
} from '../access/access-key.ts';
import type { OperationContext } from '../operation.ts';
import { readNumber, readNumberOrNull, readText } from '../rows/row-value.ts';
import type { SqlRow } from '../sql-driver.ts';

const maxNameLength = 200;

/**
 * Creates an access key and stores its digest.
 *
 * @throws ValidationError when the scope is unknown, the name is empty, or the lifetime is not positive
 */
export async function createAccessKey(context: OperationContext, request: AccessKeyRequest): Promise<NewAccessKey> {
  const { name, scope, lifetimeMs = null } = request;
  assertRequest(request);
  const { keyId, key } = newAccessKey();
  const expireTimeMs = lifetimeMs === null ? null : context.nowMs + lifetimeMs;
  await context.db.run(
    'INSERT INTO access_keys (key_id, name, scope, key_digest, create_time_ms, expire_time_ms) VALUES (?, ?, ?, ?, ?, ?)',
    [keyId, name, scope, digestOf(key), context.nowMs, expireTimeMs],
  );
  return { key, record: { keyId, name, scope, createTimeMs: context.nowMs, expireTimeMs, revokeTimeMs: null } };
}

/** The records of all keys, oldest first, including revoked ones. */
export async function listAccessKeys(context: OperationContext): Promise<readonly AccessKey[]> {
  const rows = await context.db.all('SELECT * FROM access_keys ORDER BY create_time_ms, key_id');
  return rows.map(accessKeyFromRow);
}

/**
 * Revokes an access key. It stays in the list; revoking it again has no effect.
 *
 * @throws NotFoundError when there is no such key
 */
export async function revokeAccessKey(context: OperationContext, keyId: string): Promise<AccessKey> {
  await context.db.run('UPDATE access_keys SET revoke_time_ms = ? WHERE key_id = ? AND revoke_time_ms IS NULL', [
    context.nowMs,
    keyId,
  ]);
  const stored = await findAccessKey(context, keyId);
  if (stored === null) throw new NotFoundError('Key', keyId);
  return stored.record;
}

/** A key with its digest; null if unknown. */
export async function findAccessKey(context: OperationContext, keyId: string): Promise<StoredAccessKey | null> {
  const [row] = await context.db.all('SELECT * FROM access_keys WHERE key_id = ?', [keyId]);
  return row === undefined ? null : { record: accessKeyFromRow(row), digest: readText(row, 'key_digest') };
}

/** Whether a key was ever created. Revoked keys count: revoking the last key does not disable authentication. */
export async function hasAccessKeys(context: OperationContext): Promise<boolean> {
  return (await context.db.all('SELECT 1 FROM access_keys LIMIT 1')).length > 0;
}

function assertRequest({ name, scope, lifetimeMs = null }: AccessKeyRequest): void {
  if (name === '' || name.length > maxNameLength) {
    throw invalid('name', `must have 1 to ${maxNameLength} characters, got ${name.length}`);
  }
  if (!accessScopes.includes(scope)) throw invalid('scope', `must be one of ${accessScopes.join(', ')}, got ${scope}`);
  if (lifetimeMs !== null && !(lifetimeMs > 0 && Number.isFinite(lifetimeMs))) {
    throw invalid('lifetimeMs', `must be a number of milliseconds above 0, got ${lifetimeMs}`);
  }
}

function invalid(path: string, message: string): ValidationError {
  return new ValidationError('Key', [{ path, message }]);
}

function accessKeyFromRow(row: SqlRow): AccessKey {
  return {
    keyId: readText(row, 'key_id'),
    name: readText(row, 'name'),
    // Trusted: only this package writes the column.
    scope: readText(row, 'scope') as AccessScope,
    createTimeMs: readNumber(row, 'create_time_ms'),
    expireTimeMs: readNumberOrNull(row, 'expire_time_ms'),
    revokeTimeMs: readNumberOrNull(row, 'revoke_time_ms'),
  };
}
