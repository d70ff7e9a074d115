import { AgentLightningError } from '@agentlightning/core';

/** Something a run depends on. */
export interface HealthCheck {
  /** As it stands in a sentence: `the gateway`. */
  readonly what: string;
  /** Throws when it does not answer. */
  readonly check: () => Promise<void>;
}

/** A watch over everything a run depends on. */
export interface HealthWatch {
  /** Resolves with the first thing that was found gone. */
  readonly failed: Promise<AgentLightningError>;
  /** Looks at everything now, and throws what is wrong. */
  readonly assertHealthy: () => Promise<void>;
  readonly stop: () => Promise<void>;
}

/** How often each dependency is looked at, in milliseconds. */
const intervalMs = 2000;

/** Looks at dependencies every two seconds; one failed look is enough, since each retries by itself. */
export function watchHealth(checks: readonly HealthCheck[]): HealthWatch {
  let report: (error: AgentLightningError) => void = () => undefined;
  const failed = new Promise<AgentLightningError>((resolve) => {
    report = resolve;
  });
  const assertHealthy = async (): Promise<void> => {
    for (const { what, check } of checks) {
      try {
        await check();
      } catch (error) {
        throw asUnreachable(error, what);
      }
    }
  };
  let isLooking = false;
  const timer = setInterval(() => {
    if (isLooking) return;
    isLooking = true;
    assertHealthy()
      .catch((error: unknown) => report(asUnreachable(error, 'a dependency')))
      .finally(() => {
        isLooking = false;
      });
  }, intervalMs);
  timer.unref();
  return { failed, assertHealthy, stop: async () => clearInterval(timer) };
}

function asUnreachable(error: unknown, what: string): AgentLightningError {
  if (AgentLightningError.isInstance(error)) return error;
  const reason = error instanceof Error ? error.message : String(error);
  return new AgentLightningError({ code: 'UNREACHABLE', message: `${what} does not answer: ${reason}`, cause: error });
}
