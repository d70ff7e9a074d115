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
  await reached(options, async (response) => await response.body?.cancel());
}

/**
 * @returns the body of the response
 * @throws AgentLightningError UNREACHABLE when an HTTP server does not respond as expected, after retries
 */
export async function readReachable(options: ReachableOptions): Promise<string> {
  return await reached(options, async (response) => await response.text());
}

type ReadResponse<TBody> = (response: Response) => Promise<TBody>;

async function reached<TBody>(options: ReachableOptions, read: ReadResponse<TBody>): Promise<TBody> {
  return await withRetry(() => requestOnce(options, read), {
    clock: systemClock,
    delayMs: (_error, failures) => (failures < maxTries ? retryDelayMs : null),
  });
}

async function requestOnce<TBody>(options: ReachableOptions, read: ReadResponse<TBody>): Promise<TBody> {
  const { what, url, isFine, remedy } = options;
  const response = await responseOf(url, read);
  if (typeof response !== 'string' && isFine(response.status)) return response.body;
  const reason = typeof response === 'string' ? response : response.status;
  throw new AgentLightningError({ code: 'UNREACHABLE', message: `${what} does not respond (${reason})`, remedy });
}

/** The response of an address, or why the request failed. */
async function responseOf<TBody>(
  url: string,
  read: ReadResponse<TBody>,
): Promise<{ readonly status: number; readonly body: TBody } | string> {
  try {
    const response = await fetch(url, { signal: AbortSignal.timeout(timeoutMs) });
    return { status: response.status, body: await read(response) };
  } catch (error) {
    const cause = error instanceof Error ? error.cause : undefined;
    // The error message may contain the address and its password.
    return withoutPasswords(cause instanceof Error ? cause.message : String(error));
  }
}
