import { Writable } from 'node:stream';
import { systemClock } from '@agentlightning/core/internal';
import { type AnyValue, type Context, type Logger, SeverityNumber } from '@opentelemetry/api';

/** Severities of pino's levels, by level / 10. */
const severities: readonly SeverityNumber[] = [
  SeverityNumber.UNSPECIFIED,
  SeverityNumber.TRACE,
  SeverityNumber.DEBUG,
  SeverityNumber.INFO,
  SeverityNumber.WARN,
  SeverityNumber.ERROR,
  SeverityNumber.FATAL,
];

/** Fields that have a place in the log record, or are part of the resource. */
const placedFields: ReadonlySet<string> = new Set(['level', 'time', 'msg', 'pid', 'hostname', 'name']);

/**
 * A destination for pino that emits its lines as OpenTelemetry log records.
 *
 * @param activeContext - the context of the writing code, which links a record to its span
 */
export function logStream(logger: Logger, activeContext: () => Context): Writable {
  return new Writable({
    // One chunk is one line; writes are synchronous, in the context of the writing code.
    write: (chunk: Buffer | string, _encoding, done) => {
      emitLine(logger, String(chunk), activeContext());
      done();
    },
  });
}

function emitLine(logger: Logger, line: string, context: Context): void {
  const fields = parseLine(line);
  if (fields === null) return;
  const { level, time, msg } = fields;
  logger.emit({
    severityNumber: severities[Math.floor(Number(level) / 10)] ?? SeverityNumber.UNSPECIFIED,
    body: typeof msg === 'string' ? msg : line.trimEnd(),
    timestamp: typeof time === 'number' ? time : systemClock.now(),
    attributes: Object.fromEntries(Object.entries(fields).filter(([name]) => !placedFields.has(name))) as Record<
      string,
      AnyValue
    >,
    context,
  });
}

function parseLine(line: string): Readonly<Record<string, unknown>> | null {
  try {
    const parsed: unknown = JSON.parse(line);
    return typeof parsed === 'object' && parsed !== null ? (parsed as Record<string, unknown>) : null;
  } catch {
    // Not a line of pino; standard error has it.
    return null;
  }
}
