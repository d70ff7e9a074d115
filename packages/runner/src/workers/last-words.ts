import { writeSync } from 'node:fs';
import { currentRollout } from '@agentlightning/core';
import { type LastWords, lastWordsFd } from './worker-messages.ts';

/** Maximum length of a reported exception, in characters. */
const maxDetailLength = 1000;

/** Reports synchronously why this process ends. The first report counts. */
export function writeLastWords(words: LastWords): void {
  try {
    writeSync(lastWordsFd, `${lastWordsText(words)}\n`);
  } catch {
    // The supervisor has ended.
  }
}

/** The text of last words, without the end of the line. */
export function lastWordsText(words: LastWords): string {
  return JSON.stringify({ ...words, detail: words.detail.slice(0, maxDetailLength) });
}

/** The attempt whose code runs; null outside of rollouts. */
export function currentAttemptId(): string | null {
  return currentRollout()?.attemptId ?? null;
}
