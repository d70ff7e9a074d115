import { errorMessage } from '../base/error-message.ts';
import type { Attributes } from './span.ts';

/** OpenTelemetry attribute names of an exception. */
const names = {
  type: 'exception.type',
  message: 'exception.message',
  stacktrace: 'exception.stacktrace',
  escaped: 'exception.escaped',
} as const;

const maxCauses = 5;

/**
 * OpenTelemetry `exception.*` attributes of any thrown value. The stack trace includes up to five causes.
 *
 * @param escaped - whether the error left the span that records it. @default true
 */
export function exceptionAttributes(error: unknown, escaped = true): Attributes {
  const stacktrace = stackOf(error);
  return {
    [names.type]: error instanceof Error ? error.name : typeof error,
    [names.message]: errorMessage(error),
    ...(stacktrace === '' ? {} : { [names.stacktrace]: stacktrace }),
    [names.escaped]: escaped,
  };
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
