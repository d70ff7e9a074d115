import { AgentLightningError } from '@agentlightning/core';
import { errorMessage } from '@agentlightning/core/internal';

// Primary result codes of SQLite (https://sqlite.org/rescode.html): the low byte of an extended code.
const busyCode = 5;
const lockedCode = 6;
const ioErrorCode = 10;
const corruptCode = 11;
const fullCode = 13;
const cannotOpenCode = 14;
const readOnlyCode = 8;
const notADatabaseCode = 26;

/** Whether another connection holds the lock that a statement needs. */
export function isBusy(error: unknown): boolean {
  const code = primaryCode(error);
  return code === busyCode || code === lockedCode;
}

/** Whether a file is damaged or not a database. */
export function isDamage(error: unknown): boolean {
  const code = primaryCode(error);
  return code === corruptCode || code === notADatabaseCode;
}

/** Converts a SQLite error to a store error; other errors are returned unchanged. */
export function toStoreError(error: unknown, path: string): unknown {
  const code = primaryCode(error);
  if (code === null) return error;
  const cause = error;
  const reason = errorMessage(error);
  switch (code) {
    case fullCode:
    case ioErrorCode:
      return new AgentLightningError({
        code: 'STORE_FULL',
        message: `The store ${path} cannot be written: ${reason}`,
        cause,
      });
    case corruptCode:
      return new AgentLightningError({
        code: 'STORE_SCHEMA',
        message: `The store ${path} is damaged: ${reason}`,
        remedy: 'Restore a backup with `agl store restore <backup> --force`.',
        cause,
      });
    case notADatabaseCode:
      return new AgentLightningError({ code: 'STORE_SCHEMA', message: `${path} is not a store: ${reason}`, cause });
    case cannotOpenCode:
    case readOnlyCode:
      return new AgentLightningError({
        code: 'CONFIG',
        message: `The store ${path} cannot be opened for writing: ${reason}`,
        remedy: 'Check that the path is a file in a folder with write permission.',
        cause,
      });
    case busyCode:
    case lockedCode:
      return new AgentLightningError({
        code: 'TIMEOUT',
        message: `The store ${path} stayed locked by another process: ${reason}`,
        remedy: 'Find out which other process holds the file, or raise busyTimeoutMs.',
        cause,
      });
    default:
      return new AgentLightningError({ code: 'INTERNAL', message: `The store ${path} failed: ${reason}`, cause });
  }
}

function primaryCode(error: unknown): number | null {
  if (typeof error !== 'object' || error === null) return null;
  if (!('code' in error) || error.code !== 'ERR_SQLITE_ERROR') return null;
  return 'errcode' in error && typeof error.errcode === 'number' ? error.errcode & 0xff : 1;
}
