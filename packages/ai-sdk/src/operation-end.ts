import type { AgentStepEnd } from '@agentlightning/core/adapter';
import { fieldsOf, plainText } from '@agentlightning/core/internal';

/** The end of a step, by its error. An abort is not a failure. */
export function endOf(error: unknown): AgentStepEnd {
  if (error === undefined || error === null) return {};
  return { error: error instanceof Error ? error : messageOf(error), isAborted: isAbort(error) };
}

/** Recognised by name, as in the AI SDK. */
function isAbort(error: unknown): boolean {
  return /^(AbortError|ResponseAborted|TimeoutError)$/.test(String(fieldsOf(error).name));
}

/** Providers forward stream errors unchanged: as objects. */
function messageOf(error: unknown): string {
  return plainText(fieldsOf(error).message ?? error);
}
