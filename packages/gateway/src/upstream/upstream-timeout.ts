/** The abort reason of a request whose upstream sent no first byte in time. */
export class UpstreamTimeout extends Error {
  override readonly name = 'UpstreamTimeout';
}

/** Whether an upstream sent nothing until a timeout, once it was connected. */
export function isUpstreamTimeout(error: unknown): boolean {
  if (error instanceof UpstreamTimeout) return true;
  return error instanceof Error && 'code' in error && error.code === 'UND_ERR_BODY_TIMEOUT';
}
