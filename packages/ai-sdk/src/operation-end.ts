import { type AgentStepEnd, fieldsOf, plainText } from '@agentlightning/core/adapter';

/** How something ends that ended with this error, or with none. Being stopped is no failure. */
export function endOf(error: unknown): AgentStepEnd {
  if (error === undefined || error === null) return {};
  return { error: error instanceof Error ? error : wordsOf(error), isAborted: isAbort(error) };
}

/** By their names, as the AI SDK itself tells them. */
function isAbort(error: unknown): boolean {
  return /^(AbortError|ResponseAborted|TimeoutError)$/.test(String(fieldsOf(error).name));
}

/** Providers pass errors of streams on as they come: as objects. */
function wordsOf(error: unknown): string {
  return plainText(fieldsOf(error).message ?? error);
}
