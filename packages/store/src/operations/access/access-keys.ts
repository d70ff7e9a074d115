import { NotFoundError, ValidationError } from '@agentlightning/core';
import { defaultProject } from '@agentlightning/core/protocol';
import {
  type AccessKey,
  type AccessKeyRequest,
  digestOf,
  type KeyRole,
  keyRoles,
  type NewAccessKey,
  newAccessKey,
  type StoredAccessKey,
} from '../../access/access-key.ts';
import { assertProjectName } from '../../projects/project-location.ts';
import type { OperationContext } from '../../sql/operation-runner.ts';
import { readNumber, readNumberOrNull, readText, readTextOrNull } from '../../sql/row-value.ts';
import type { SqlRow } from '../../sql/sql-driver.ts';

const maxNameLength = 200;

/**
 * Creates an access key and stores its digest.
 *
 * @throws ValidationError when the role is unknown, the name is empty, the lifetime is not positive, or the project is invalid
 */
export async function createAccessKey(context: OperationContext, request: AccessKeyRequest): Promise<NewAccessKey> {
  const { name, role, lifetimeMs = null } = request;
  assertRequest(request);
  const project = role === 'admin' ? null : (request.project ?? defaultProject);
  const { keyId, key } = newAccessKey();
  const expireTimeMs = lifetimeMs === null ? null : context.nowMs + lifetimeMs;
  await context.db.run(
    'INSERT INTO access_keys (key_id, name, role, project, key_digest, create_time_ms, expire_time_ms) VALUES (?, ?, ?, ?, ?, ?, ?)',
    [keyId, name, role, project, digestOf(key), context.nowMs, expireTimeMs],
  );
  return { key, record: { keyId, name, role, project, createTimeMs: context.nowMs, expireTimeMs, revokeTimeMs: null } };
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

/** The names of all projects, the default one first, then in order of their first key. */
export async function projectNames(context: OperationContext): Promise<readonly string[]> {
  const rows = await context.db.all(
    'SELECT project FROM access_keys WHERE project IS NOT NULL GROUP BY project ORDER BY min(create_time_ms), project',
  );
  return [...new Set([defaultProject, ...rows.map((row) => readText(row, 'project'))])];
}

function assertRequest({ name, role, project, lifetimeMs = null }: AccessKeyRequest): void {
  if (name === '' || name.length > maxNameLength) {
    throw invalid('name', `must have 1 to ${maxNameLength} characters, got ${name.length}`);
  }
  if (!keyRoles.includes(role)) throw invalid('role', `must be one of ${keyRoles.join(', ')}, got ${role}`);
  if (role === 'admin' && project !== undefined) throw invalid('project', `is not of admin keys, got ${project}`);
  if (project !== undefined) assertProjectName(project);
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
    role: readText(row, 'role') as KeyRole,
    project: readTextOrNull(row, 'project'),
    createTimeMs: readNumber(row, 'create_time_ms'),
    expireTimeMs: readNumberOrNull(row, 'expire_time_ms'),
    revokeTimeMs: readNumberOrNull(row, 'revoke_time_ms'),
  };
}
