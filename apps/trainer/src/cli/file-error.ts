import { AgentLightningError, type ErrorCode } from '@agentlightning/core';

/** What to do about an error of the file system, by Node's code. */
const remedies: Readonly<Record<string, string>> = {
  EACCES: 'Name a place that you may write to, or allow it there.',
  EPERM: 'Name a place that you may write to, or allow it there.',
  EROFS: 'Name a place that can be written to.',
  ENOENT: 'Check the path.',
  ENOTDIR: 'Check the path: a part of it is a file, and not a folder.',
  EISDIR: 'Name a file: there is a folder at this path.',
  EEXIST: 'Check the path: there is something else at it, or at a part of it.',
  ENOSPC: 'Free some space on that disk.',
  EDQUOT: 'Free some space, or ask for a larger quota.',
};

/** An error of ours for one of the file system, which says enough without its stack; any other as it is. */
export function explainedFileError(error: unknown): unknown {
  if (!(error instanceof Error) || AgentLightningError.isInstance(error) || !('syscall' in error)) return error;
  const { code } = error as NodeJS.ErrnoException;
  const remedy = remedies[code ?? ''];
  if (remedy === undefined) return error;
  const isFull = code === 'ENOSPC' || code === 'EDQUOT';
  const ourCode: ErrorCode = isFull ? 'STORE_FULL' : 'CONFIG';
  return new AgentLightningError({ code: ourCode, message: error.message, remedy, cause: error });
}
