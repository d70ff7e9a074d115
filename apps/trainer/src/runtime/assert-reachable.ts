import { AgentLightningError } from '@agentlightning/core';
import { systemClock, withoutPasswords, withRetry } from '@agentlightning/core/internal';

/** The server that is checked. */
export interface ReachableOptions {
  /** Its name in an error message: `the gateway at http://…`. */
  readonly what: string;
  readonly url: string;
  readonly remedy: string;
  /** Whether a response with this status shows that the server works. */
  readonly isFine: (status: number) => boolean;
}

/** A busy server may fail single requests. */
const maxTries = 3;
const retryDelayMs = 500;

/** Response timeout in milliseconds. The server may share a busy machine with an agent. */
const timeoutMs = 10_000;

/** @throws AgentLightningError UNREACHABLE when an HTTP server does not respond as expected, after retries */
export async function assertReachable(options: ReachableOptions): Promise<void> {
  await withRetry(() => requestOnce(options), {
    clock: systemClock,
    delayMs: (_error, failures) => (failures < maxTries ? retryDelayMs : null),
  });
}

async function requestOnce({ what, url, isFine, remedy }: ReachableOptions): Promise<void> {
  const status = await statusOf(url);
  if (typeof status === 'number' && isFine(status)) return;
  throw new AgentLightningError({ code: 'UNREACHABLE', message: `${what} does not respond (${status})`, remedy });
}

/** The HTTP status of an address, or why the request failed. */
async function statusOf(url: string): Promise<number | string> {
  try {
    const response = await fetch(url, { signal: AbortSignal.timeout(timeoutMs) });
    await response.body?.cancel();
    return response.status;
  } catch (error) {
    const cause = error instanceof Error ? error.cause : undefined;
    // The error message may contain the address and its password.
    return withoutPasswords(cause instanceof Error ? cause.message : String(error));
  }
}
