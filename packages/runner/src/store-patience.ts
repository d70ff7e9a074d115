import { AgentLightningError, type Clock, type ErrorCode } from '@agentlightning/core';

/** Failures of the store that pass. */
const passingCodes: readonly ErrorCode[] = ['UNREACHABLE', 'TIMEOUT', 'STORE_FULL', 'RESOURCE_EXHAUSTED'];

/** Whether the store may answer if it is asked again. */
export function isPassing(error: unknown): boolean {
  return AgentLightningError.isInstance(error) && passingCodes.includes(error.code);
}

/** How long to wait before asking the store again: 100 ms after the first failure, twice as long each time, 5 s at most. */
export function patienceMs(failures: number): number {
  return Math.min(100 * 2 ** (failures - 1), 5000);
}

/** How to ask again. */
export interface PatienceOptions {
  readonly clock: Clock;
  /** How often to ask at most. */
  readonly maxTries: number;
  /** Told of failures that are followed by another try. */
  readonly onFailure: (error: unknown) => void;
}

/**
 * Asks the store until it answers, or the failure is one that does not pass.
 *
 * @throws what the store threw last
 */
export async function patiently<TResult>(ask: () => Promise<TResult>, options: PatienceOptions): Promise<TResult> {
  for (let tries = 1; ; tries += 1) {
    try {
      return await ask();
    } catch (error) {
      if (!isPassing(error) || tries >= options.maxTries) throw error;
      options.onFailure(error);
      await options.clock.sleep(patienceMs(tries));
    }
  }
}
