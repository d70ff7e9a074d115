import type { AgentStepEnd } from '@agentlightning/core/adapter';
import { plainText } from './sdk-messages.ts';

/** How something ends that ended with this error, or with none. Being stopped is no failure. */
export function endOf(error: unknown): AgentStepEnd {
  if (error === undefined || error === null) return {};
  return { error: error instanceof Error ? error : wordsOf(error), isAborted: isAbort(error) };
}

/** By their names, as the AI SDK itself tells them. */
function isAbort(error: unknown): boolean {
  const name = error instanceof Error ? error.name : '';
  return name === 'AbortError' || name === 'ResponseAborted' || name === 'TimeoutError';
}

/** Providers pass errors of streams on as they come: as objects. */
function wordsOf(error: unknown): string {
  const hasMessage = typeof error === 'object' && error !== null && 'message' in error;
  return plainText(hasMessage ? error.message : error);
}
