import { AgentLightningError } from '@agentlightning/core';

/** Something a run depends on. */
export interface HealthCheck {
  /** As it stands in a sentence: `the gateway`. */
  readonly what: string;
  /** Throws when it is gone. It asks more than once by itself where a busy server may miss a question. */
  readonly check: () => Promise<void>;
}

/** A watch over everything a run depends on. */
export interface HealthWatch {
  /** Looks at everything now, and throws what is wrong. */
  readonly assertHealthy: () => Promise<void>;
  readonly stop: () => void;
}

/**
 * Looks at dependencies in turn, again and again.
 *
 * @param options.onFailure - told the first thing that was found gone; the watch is over then
 */
export function watchHealth(options: {
  readonly checks: readonly HealthCheck[];
  /** The time between two looks, in milliseconds. */
  readonly intervalMs: number;
  readonly onFailure: (error: AgentLightningError) => void;
}): HealthWatch {
  const assertHealthy = async (): Promise<void> => {
    for (const { what, check } of options.checks) {
      try {
        await check();
      } catch (error) {
        throw asUnreachable(error, what);
      }
    }
  };
  let isStopped = false;
  let timer: NodeJS.Timeout;
  const look = async (): Promise<void> => {
    try {
      await assertHealthy();
      if (!isStopped) timer = setTimeout(look, options.intervalMs).unref();
    } catch (error) {
      if (!isStopped) options.onFailure(asUnreachable(error, 'a dependency'));
    }
  };
  timer = setTimeout(look, options.intervalMs).unref();
  return {
    assertHealthy,
    stop: () => {
      isStopped = true;
      clearTimeout(timer);
    },
  };
}

function asUnreachable(error: unknown, what: string): AgentLightningError {
  if (AgentLightningError.isInstance(error)) return error;
  const reason = error instanceof Error ? error.message : String(error);
  return new AgentLightningError({ code: 'UNREACHABLE', message: `${what} does not answer: ${reason}`, cause: error });
}
