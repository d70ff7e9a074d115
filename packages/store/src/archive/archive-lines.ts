import { ValidationError, type ValidationIssue } from '@agentlightning/core';

/** Maximum length of a line in bytes: above the size limits of spans and of the inputs of rollouts. */
const maxLineBytes = 64 * 1024 * 1024;

const lineEnd = 0x0a;

/**
 * Splits chunks of text into lines, each with its line end.
 *
 * @throws ValidationError when a line exceeds the maximum length
 */
export async function* splitLines(chunks: AsyncIterable<Uint8Array>): AsyncGenerator<Buffer> {
  let pending: Buffer[] = [];
  let pendingBytes = 0;
  for await (const chunk of chunks) {
    let rest = Buffer.from(chunk.buffer, chunk.byteOffset, chunk.byteLength);
    for (let end = rest.indexOf(lineEnd); end !== -1; end = rest.indexOf(lineEnd)) {
      yield Buffer.concat([...pending, rest.subarray(0, end + 1)]);
      pending = [];
      pendingBytes = 0;
      rest = rest.subarray(end + 1);
    }
    if (rest.length === 0) continue;
    pending.push(rest);
    pendingBytes += rest.length;
    if (pendingBytes > maxLineBytes) throw archiveError(`has a line of more than ${maxLineBytes} bytes`);
  }
  if (pending.length > 0) yield Buffer.concat(pending);
}

/** The error for an invalid archive. */
export function archiveError(
  message: string,
  cause?: unknown,
  issues: readonly ValidationIssue[] = [],
): ValidationError {
  return new ValidationError('Run archive', [{ path: '', message }, ...issues], cause);
}
