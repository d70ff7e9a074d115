import { createHash } from 'node:crypto';
import { basename, dirname, join } from 'node:path';
import { ValidationError } from '@agentlightning/core';
import { defaultProject } from '@agentlightning/core/protocol';
import { isPostgres, sqlitePath } from '../store-location.ts';

const pattern = /^[a-z][a-z0-9]*(-[a-z0-9]+)*$/;
const maxNameLength = 40;

/**
 * Asserts that a name can be that of a project, and so of a folder, of a schema and in a URL.
 *
 * @throws ValidationError
 */
export function assertProjectName(name: string): void {
  if (pattern.test(name) && name.length <= maxNameLength) return;
  throw new ValidationError('Project', [
    { path: 'name', message: `must be at most ${maxNameLength} lower-case letters, digits and hyphens, got ${name}` },
  ]);
}

/** Maximum bytes of an identifier in PostgreSQL, which truncates longer ones: two projects would have the same schema. */
const maxIdentifierBytes = 63;

/** The schema of a project in PostgreSQL, unique for its name; null for another database. */
export function projectSchema(location: string, name: string): string | null {
  const schema = fullSchema(location, name);
  if (schema === null || schema.length <= maxIdentifierBytes) return schema;
  const digest = createHash('sha256').update(schema).digest('hex').slice(0, 16);
  return `${schema.slice(0, maxIdentifierBytes - digest.length - 1)}_${digest}`;
}

/** The schema of a project in earlier versions, truncated by PostgreSQL; null when it has not changed. */
export function truncatedSchema(location: string, name: string): string | null {
  const schema = fullSchema(location, name);
  return schema === null || schema.length <= maxIdentifierBytes ? null : schema.slice(0, maxIdentifierBytes);
}

/** Letters, digits and underscores, each one byte. */
function fullSchema(location: string, name: string): string | null {
  if (!isPostgres(location)) return null;
  const own = /search_path=([\w]+)/.exec(new URL(location).searchParams.get('options') ?? '')?.[1];
  const schema = `project_${name.replaceAll('-', '_')}`;
  return own === undefined ? schema : `${own}_${schema}`;
}

/**
 * Where the data of a project is: a file in `projects/<name>` beside that of the default project, or a schema of the same
 * database.
 */
export function projectLocation(location: string, name: string): string {
  if (name === defaultProject) return location;
  const schema = projectSchema(location, name);
  if (schema !== null) {
    const url = new URL(location);
    url.searchParams.set('options', `-c search_path=${schema}`);
    return url.href;
  }
  const path = sqlitePath(location);
  return path === ':memory:' ? path : join(dirname(path), 'projects', name, basename(path));
}
