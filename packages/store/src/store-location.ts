import { resolve } from 'node:path';
import { ValidationError } from '@agentlightning/core';
import { addressText } from '@agentlightning/core/internal';

/** Whether a location names a PostgreSQL database. */
export function isPostgres(location: string): boolean {
  return /^postgres(ql)?:/.test(location);
}

/**
 * The file that a location names, or `:memory:`.
 *
 * @throws ValidationError for an unknown kind of store
 */
export function sqlitePath(location: string): string {
  const [, scheme, rest] = /^([a-z][a-z0-9+]+):(.*)$/.exec(location) ?? [undefined, 'sqlite', location];
  if (scheme !== 'sqlite' || rest === '' || rest === undefined) throw badLocation(location);
  return rest === ':memory:' ? rest : resolve(rest);
}

/** The error for an invalid location, without its password. */
export function badLocation(location: string): ValidationError {
  return new ValidationError(`Store location ${addressText(location)}`, [
    { path: '', message: 'must be sqlite:<path>, a path, :memory:, or postgres://user:password@host:port/database' },
  ]);
}
