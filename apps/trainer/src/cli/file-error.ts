import { AgentLightningError, type ErrorCode } from '@agentlightning/core';

/** Remedies for errors of the file system, by Node's code. */
const remedies: Readonly<Record<string, string>> = {
  EACCES: 'Choose a writable path, or change its permissions.',
  EPERM: 'Choose a writable path, or change its permissions.',
  EROFS: 'Choose a writable path.',
  ENOENT: 'Check the path.',
  ENOTDIR: 'Check the path: one of its folders is a file.',
  EISDIR: 'Name a file: this path is a folder.',
  EEXIST: 'Choose another path: this one exists.',
  ENOSPC: 'Free disk space.',
  EDQUOT: 'Free disk space, or request a larger quota.',
};

/** Converts an expected error of the file system to an `AgentLightningError`; returns any other error unchanged. */
export function explainedFileError(error: unknown): unknown {
  if (!(error instanceof Error) || AgentLightningError.isInstance(error) || !('syscall' in error)) return error;
  const { code } = error as NodeJS.ErrnoException;
  const remedy = remedies[code ?? ''];
  if (remedy === undefined) return error;
  const isFull = code === 'ENOSPC' || code === 'EDQUOT';
  const ourCode: ErrorCode = isFull ? 'STORE_FULL' : 'CONFIG';
  return new AgentLightningError({ code: ourCode, message: error.message, remedy, cause: error });
}
