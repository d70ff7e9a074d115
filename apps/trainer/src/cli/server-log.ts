import { withoutPasswords } from '@agentlightning/core';
import { pino } from 'pino';

/** The log of a server that runs from the command line: one JSON object a line, on standard error. No address has its password there. */
export function serverLog(name: string): pino.Logger {
  const level = process.env['AGL_LOG_LEVEL'] ?? 'info';
  return pino({ name, level, hooks: { streamWrite: withoutPasswords } }, pino.destination({ fd: 2, sync: true }));
}
