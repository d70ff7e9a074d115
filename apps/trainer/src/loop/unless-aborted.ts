/**
 * The work's result, unless the signal aborts first: then it throws the signal's reason. The work itself goes on, and
 * what becomes of it is nobody's business any more.
 */
export async function unlessAborted<TResult>(work: Promise<TResult>, signal: AbortSignal): Promise<TResult> {
  let onAbort = (): void => undefined;
  const aborted = new Promise<never>((_, reject) => {
    onAbort = () => reject(signal.reason);
    signal.addEventListener('abort', onAbort, { once: true });
    if (signal.aborted) onAbort();
  });
  try {
    return await Promise.race([work, aborted]);
  } finally {
    signal.removeEventListener('abort', onAbort);
  }
}
