import type { Writable } from 'node:stream';
import { AgentLightningError } from '@agentlightning/core';
import { withoutPasswords } from '@agentlightning/core/internal';
import { didYouMean } from '@agentlightning/core/settings';
import { pino } from 'pino';

const levels: readonly string[] = [...Object.keys(pino.levels.values), 'silent'];

/**
 * The log of a server started from the command line: one JSON object per line on standard error. Passwords in addresses are
 * removed.
 *
 * @param copy - a further destination. @default none
 * @throws AgentLightningError CONFIG for an unknown level in AGL_LOG_LEVEL
 */
export function serverLog(name: string, copy: Writable | null = null): pino.Logger {
  const level = process.env['AGL_LOG_LEVEL'] || 'info';
  if (!levels.includes(level)) {
    throw new AgentLightningError({
      code: 'CONFIG',
      message: `AGL_LOG_LEVEL is "${level}"${didYouMean(level, levels)}`,
      remedy: `Set it to one of ${levels.join(', ')}, or unset it for info.`,
    });
  }
  const standardError = pino.destination({ fd: 2, sync: true });
  const destination = copy === null ? standardError : pino.multistream([standardError, copy].map(everyLevel));
  return pino({ name, level, hooks: { streamWrite: withoutPasswords } }, destination);
}

/** The logger itself selects by level. */
function everyLevel(stream: pino.DestinationStream): pino.StreamEntry {
  return { stream, level: 'trace' };
}
