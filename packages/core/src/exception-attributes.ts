import type { Attributes } from './span.ts';

/** OpenTelemetry's names for an error. */
const names = {
  type: 'exception.type',
  message: 'exception.message',
  stacktrace: 'exception.stacktrace',
  escaped: 'exception.escaped',
} as const;

const maxCauses = 5;

/**
 * Anything that was thrown, as OpenTelemetry's `exception.*` attributes. The stack trace goes on with the
 * causes, up to five.
 *
 * @param escaped - whether the error left the span it is recorded in. @default true
 */
export function exceptionAttributes(error: unknown, escaped = true): Attributes {
  const stacktrace = stackOf(error);
  return {
    [names.type]: error instanceof Error ? error.name : typeof error,
    [names.message]: messageOf(error),
    ...(stacktrace === '' ? {} : { [names.stacktrace]: stacktrace }),
    [names.escaped]: escaped,
  };
}

/** What an error says; of anything else that was thrown, its text. */
export function messageOf(error: unknown): string {
  if (error instanceof Error) return error.message;
  try {
    return String(error);
  } catch {
    // An object without a usable toString was thrown.
    return Object.prototype.toString.call(error);
  }
}

function stackOf(error: unknown): string {
  const stacks: string[] = [];
  let current: unknown = error;
  while (current instanceof Error && stacks.length <= maxCauses) {
    stacks.push(current.stack ?? `${current.name}: ${current.message}`);
    current = current.cause;
  }
  return stacks.join('\nCaused by: ');
}
