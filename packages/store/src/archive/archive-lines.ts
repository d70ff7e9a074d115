import { ValidationError, type ValidationIssue } from '@agentlightning/core';

/** The longest line an archive may have, in bytes: beyond any span that a server takes. */
const longestLineBytes = 256 * 1024 * 1024;

const lineEnd = 0x0a;

/**
 * The lines of a text that comes in pieces, each with its line end.
 *
 * @throws ValidationError when a line is longer than any that is written
 */
export async function* linesOfBytes(pieces: AsyncIterable<Uint8Array>): AsyncGenerator<Buffer> {
  let begun: Buffer[] = [];
  let begunBytes = 0;
  for await (const piece of pieces) {
    let rest = Buffer.from(piece.buffer, piece.byteOffset, piece.byteLength);
    for (let end = rest.indexOf(lineEnd); end !== -1; end = rest.indexOf(lineEnd)) {
      yield Buffer.concat([...begun, rest.subarray(0, end + 1)]);
      begun = [];
      begunBytes = 0;
      rest = rest.subarray(end + 1);
    }
    if (rest.length === 0) continue;
    begun.push(rest);
    begunBytes += rest.length;
    if (begunBytes > longestLineBytes) throw archiveError(`has a line of more than ${longestLineBytes} bytes`);
  }
  if (begun.length > 0) yield Buffer.concat(begun);
}

/** An archive that cannot be taken in, with the reason. */
export function archiveError(
  message: string,
  cause?: unknown,
  issues: readonly ValidationIssue[] = [],
): ValidationError {
  return new ValidationError('Run archive', [{ path: '', message }, ...issues], cause);
}
