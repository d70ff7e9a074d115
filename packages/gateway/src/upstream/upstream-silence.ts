/** The abort reason of a request whose upstream sent no first byte in time. */
export class UpstreamSilence extends Error {
  override readonly name = 'UpstreamSilence';
}

/** Whether an upstream was silent until a timeout, once it was connected. */
export function isSilence(error: unknown): boolean {
  if (error instanceof UpstreamSilence) return true;
  return error instanceof Error && 'code' in error && error.code === 'UND_ERR_BODY_TIMEOUT';
}
