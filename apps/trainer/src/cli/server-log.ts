import { pino } from 'pino';

/** The log of a server that runs from the command line: one JSON object a line, on standard error. */
export function serverLog(name: string): pino.Logger {
  return pino({ name, level: process.env['AGL_LOG_LEVEL'] ?? 'info' }, pino.destination({ fd: 2, sync: true }));
}
