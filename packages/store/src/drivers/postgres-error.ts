import { AgentLightningError } from '@agentlightning/core';

/** Two transactions were in each other's way: the one that lost may simply be run again. */
const conflicts = new Set([
  '40001', // serialization failure
  '40P01', // deadlock
  '23505', // somebody else inserted the same key: it will be found
  '23503', // somebody else deleted what is referred to: it will be missed
  '55P03', // lock not available
]);

/** The server is not there, not yet, or no longer. The classes of codes, or whole codes. */
const away = new Set([
  '08', // connection exceptions
  '57P01', // shut down by its administrator
  '57P02', // crashed
  '57P03', // still starting
  '57P05', // idle session ended
  '25006', // read only: it became a standby
  '53300', // too many connections
  'ECONNREFUSED',
  'ECONNRESET',
  'EPIPE',
  'ETIMEDOUT',
  'ENOTFOUND',
  'EAI_AGAIN',
  'EHOSTUNREACH',
  'ENETUNREACH',
  'ENOENT', // the socket of a local server
]);

/** What it has to do with an error: whether the transaction may be run again, and when. */
export type PostgresErrorKind = 'conflict' | 'away' | 'other';

/** Tells what an error means for the transaction it came from. */
export function postgresErrorKind(error: unknown): PostgresErrorKind {
  if (error instanceof AgentLightningError) return 'other';
  const code = codeOf(error);
  if (code === null) return isLostConnection(error) ? 'away' : 'other';
  if (conflicts.has(code)) return 'conflict';
  // A statement was prepared before somebody migrated the schema; a new connection prepares it anew.
  if (code === '0A000' && messageOf(error).includes('cached plan')) return 'away';
  return away.has(code) || away.has(code.slice(0, 2)) ? 'away' : 'other';
}

/** What an error of PostgreSQL means to the user of a store; our own errors pass unchanged. */
export function storeErrorFrom(cause: unknown, place: string): unknown {
  if (cause instanceof AgentLightningError) return cause;
  const reason = messageOf(cause);
  const code = codeOf(cause) ?? '';
  const details = code === '' ? {} : { databaseCode: code };
  switch (postgresErrorKind(cause)) {
    case 'away':
      return new AgentLightningError({
        code: 'UNREACHABLE',
        message: `The database ${place} cannot be reached: ${reason}`,
        remedy: 'Start the database, or check its address. The store goes on by itself when it is back.',
        details,
        cause,
      });
    case 'conflict':
      return new AgentLightningError({
        code: 'CONFLICT',
        message: `The database ${place} had others in the way again and again: ${reason}`,
        remedy: 'Try again; when it persists, let fewer processes write the same rows at once.',
        details,
        cause,
      });
    case 'other':
      return otherError({ code, message: `The database ${place} failed: ${reason}`, details, cause });
  }
}

/** The error when the connection was lost while a transaction was being committed. */
export function unknownOutcome(cause: unknown, place: string): AgentLightningError {
  return new AgentLightningError({
    code: 'UNREACHABLE',
    message: `The database ${place} went away while it was told to commit: ${messageOf(cause)}. The write may have happened or not`,
    remedy: 'Read what was to be written, and write it again if it is not there.',
    details: { outcome: 'unknown' },
    cause,
  });
}

function otherError(fault: {
  readonly code: string;
  readonly message: string;
  readonly details: Record<string, string>;
  readonly cause: unknown;
}): AgentLightningError {
  const { code, ...rest } = fault;
  // Insufficient resources, such as a full disk; and errors of the system, such as a disk that fails.
  if (code === '53100' || code === '53200' || code.startsWith('58')) {
    return new AgentLightningError({ ...rest, code: 'STORE_FULL' });
  }
  if (code === '57014') {
    return new AgentLightningError({ ...rest, code: 'TIMEOUT', remedy: 'Raise statement_timeout of the database.' });
  }
  // Unknown user, wrong password, unknown database, missing rights.
  if (code.startsWith('28') || code === '3D000' || code === '42501') {
    return new AgentLightningError({
      ...rest,
      code: 'CONFIG',
      remedy: 'Check the user, the password and the database that the address names, and what the user may do there.',
    });
  }
  return new AgentLightningError({ ...rest, code: 'INTERNAL' });
}

/** The driver's errors for a connection that is gone have no code. */
function isLostConnection(error: unknown): boolean {
  return /connection (terminated|error|timeout)|not queryable|timeout (expired|exceeded)|connection ended|socket/i.test(
    messageOf(error),
  );
}

function codeOf(error: unknown): string | null {
  return typeof error === 'object' && error !== null && 'code' in error && typeof error.code === 'string'
    ? error.code
    : null;
}

function messageOf(error: unknown): string {
  if (error instanceof AggregateError && error.message === '') return error.errors.map(messageOf).join('; ');
  return error instanceof Error ? error.message : String(error);
}
