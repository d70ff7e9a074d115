import { describe, inject } from 'vitest';
import './global-setup.ts';

/** Declares tests that need PostgreSQL. They are skipped, with the reason, on a machine without PostgreSQL. */
export function describePostgres(name: string, body: () => void): void {
  const postgres = inject('postgres');
  if ('missing' in postgres) describe.skip(`${name} (${postgres.missing})`, body);
  else describe(name, body);
}
