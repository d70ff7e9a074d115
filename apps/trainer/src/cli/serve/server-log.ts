import { AgentLightningError } from '@agentlightning/core';
import { withoutPasswords } from '@agentlightning/core/internal';
import { didYouMean } from '@agentlightning/core/settings';
import { pino } from 'pino';

const levels: readonly string[] = [...Object.keys(pino.levels.values), 'silent'];

/**
 * The log of a server that runs from the command line: one JSON object a line, on standard error. Passwords in
 * addresses are removed.
 *
 * @throws AgentLightningError CONFIG for an unknown level in AGL_LOG_LEVEL
 */
export function serverLog(name: string): pino.Logger {
  const level = process.env['AGL_LOG_LEVEL'] || 'info';
  if (!levels.includes(level)) {
    throw new AgentLightningError({
      code: 'CONFIG',
      message: `AGL_LOG_LEVEL is "${level}"${didYouMean(level, levels)}`,
      remedy: `Set it to one of ${levels.join(', ')}, or unset it for info.`,
    });
  }
  return pino({ name, level, hooks: { streamWrite: withoutPasswords } }, pino.destination({ fd: 2, sync: true }));
}
