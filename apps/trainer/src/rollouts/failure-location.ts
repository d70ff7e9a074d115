import { fileURLToPath } from 'node:url';
import type { Span } from '@agentlightning/core';
import { spanNames } from '@agentlightning/core/spans';

/** A position in a stack trace: `at parse (file:///app/agent.ts:12:9)`. */
const frame = /^\s*at (?:.*\()?((?:file:\/\/|\/|[A-Za-z]:[\\/]).+?):(\d+):\d+\)?$/gm;

/**
 * File and line that threw the last error of an attempt, `agent.ts:12`: the innermost position outside of packages. Files
 * below the current directory are relative to it.
 *
 * @returns null without a recorded error, or without a position in the user's files
 */
export function failureLocation(spans: readonly Span[]): string | null {
  const stacks = spans
    .filter(({ name }) => name === spanNames.exception)
    .toSorted((one, other) => other.sequenceId - one.sequenceId)
    .map(({ attributes }) => attributes['exception.stacktrace']);
  for (const stack of stacks) {
    for (const [, file = '', line = ''] of String(stack ?? '').matchAll(frame)) {
      const path = file.startsWith('file://') ? fileURLToPath(file.replace(/\?.*$/, '')) : file;
      if (!isOfPackage(path)) return `${path.replace(`${process.cwd()}/`, '')}:${line}`;
    }
  }
  return null;
}

function isOfPackage(path: string): boolean {
  return /[\\/]node_modules[\\/]/.test(path);
}
