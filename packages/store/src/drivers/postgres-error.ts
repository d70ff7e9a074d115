import { AgentLightningError } from '@agentlightning/core';
import { errorMessage } from '@agentlightning/core/internal';

/** Conflicts between concurrent transactions: the aborted one can be retried. */
const conflicts = new Set([
  '40001', // serialization failure
  '40P01', // deadlock
  '23505', // concurrent insert of the same key: the retry finds it
  '23503', // concurrent delete of the referenced row: the retry misses it
  '55P03', // lock not available
]);

/** Codes, or classes of codes, of an unavailable server. */
const unavailable = new Set([
  '08', // connection exceptions
  '57P01', // shut down by an administrator
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

/** Kind of error: whether, and when, the transaction can be retried. */
export type PostgresErrorKind = 'conflict' | 'unavailable' | 'other';

/** Classifies an error of a transaction. */
export function postgresErrorKind(error: unknown): PostgresErrorKind {
  if (error instanceof AgentLightningError) return 'other';
  const code = codeOf(error);
  if (code === null) return isLostConnection(error) ? 'unavailable' : 'other';
  if (conflicts.has(code)) return 'conflict';
  // A statement was prepared before a migration; a new connection prepares it again.
  if (code === '0A000' && messageOf(error).includes('cached plan')) return 'unavailable';
  return unavailable.has(code) || unavailable.has(code.slice(0, 2)) ? 'unavailable' : 'other';
}

/** Converts a PostgreSQL error to a store error; an AgentLightningError is returned unchanged. */
export function toStoreError(cause: unknown, address: string): unknown {
  if (cause instanceof AgentLightningError) return cause;
  const reason = messageOf(cause);
  const code = codeOf(cause) ?? '';
  const details = code === '' ? {} : { databaseCode: code };
  switch (postgresErrorKind(cause)) {
    case 'unavailable':
      return new AgentLightningError({
        code: 'UNREACHABLE',
        message: `The database ${address} cannot be reached: ${reason}`,
        remedy: 'Start the database, or check its address. The store reconnects automatically.',
        details,
        cause,
      });
    case 'conflict':
      return new AgentLightningError({
        code: 'CONFLICT',
        message: `Serialization conflict in the database ${address}; retries exhausted: ${reason}`,
        remedy: 'Retry; if it persists, reduce the number of processes that write the same rows concurrently.',
        details,
        cause,
      });
    case 'other':
      return otherError({ code, message: `The database ${address} failed: ${reason}`, details, cause });
  }
}

/** The error when the connection was lost while a transaction was being committed. */
export function unknownOutcome(cause: unknown, address: string): AgentLightningError {
  return new AgentLightningError({
    code: 'UNREACHABLE',
    message: `The database ${address} became unavailable during a commit: ${messageOf(cause)}. The outcome of the write is unknown`,
    remedy: 'Read the data, and repeat the write if it is missing.',
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
  // Insufficient resources, such as a full disk, and system errors, such as a disk failure.
  if (code === '53100' || code === '53200' || code.startsWith('58')) {
    return new AgentLightningError({ ...rest, code: 'STORE_FULL' });
  }
  if (code === '57014') {
    return new AgentLightningError({ ...rest, code: 'TIMEOUT', remedy: 'Raise statement_timeout of the database.' });
  }
  // Unknown user, wrong password, unknown database, missing privileges.
  if (code.startsWith('28') || code === '3D000' || code === '42501') {
    return new AgentLightningError({
      ...rest,
      code: 'CONFIG',
      remedy: 'Check the user, password and database of the address, and the privileges of the user.',
    });
  }
  return new AgentLightningError({ ...rest, code: 'INTERNAL' });
}

/** The driver's errors for lost connections have no code. */
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
  return errorMessage(error);
}
