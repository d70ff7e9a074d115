import { AgentLightningError } from '@agentlightning/core';
import { systemClock, withoutPasswords } from '@agentlightning/core/internal';

/** What is asked, and how patiently. */
export interface ReachableOptions {
  /** As it stands in a sentence: `the gateway at http://…`. */
  readonly what: string;
  readonly url: string;
  readonly remedy: string;
  /** Which answers will do. */
  readonly isFine: (status: number) => boolean;
}

/** A busy server may miss one question; one that misses three is gone. */
const maxTries = 3;
const pauseMs = 500;

/** How long a server may take to answer, in milliseconds: it may share a busy machine with an agent. */
const answerTimeoutMs = 10_000;

/** @throws AgentLightningError UNREACHABLE when an HTTP server does not answer as it should, time and again */
export async function assertReachable(options: ReachableOptions): Promise<void> {
  let answer: number | string = '';
  for (let tries = 1; tries <= maxTries; tries += 1) {
    answer = await statusOf(options.url);
    if (typeof answer === 'number' && options.isFine(answer)) return;
    if (tries < maxTries) await systemClock.sleep(pauseMs);
  }
  throw new AgentLightningError({
    code: 'UNREACHABLE',
    message: `${options.what} does not answer (${answer})`,
    remedy: options.remedy,
  });
}

/** The HTTP status of an address, or why there is none. */
async function statusOf(url: string): Promise<number | string> {
  try {
    const answer = await fetch(url, { signal: AbortSignal.timeout(answerTimeoutMs) });
    await answer.body?.cancel();
    return answer.status;
  } catch (error) {
    const cause = error instanceof Error ? error.cause : undefined;
    // An address with a password in it is refused in words that repeat it.
    return withoutPasswords(cause instanceof Error ? cause.message : String(error));
  }
}
