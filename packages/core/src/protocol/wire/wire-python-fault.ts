import * as z from 'zod';
import { AgentLightningError, NotFoundError, ValidationError } from '../../base/agent-lightning-error.ts';

/** Response body of an Agent Lightning 0.3 server for any exception, with status 500. */
interface PythonFault {
  readonly error_type: string;
  readonly traceback: string;
}

const pythonFaultSchema: z.ZodType<PythonFault> = z.object({ error_type: z.string(), traceback: z.string() });

/** Exceptions caused by the request itself, which a retry cannot resolve. */
const finalTypes = new Set(['ValueError', 'TypeError', 'ValidationError', 'ResponseValidationError']);

/** Whether a response is a permanent fault of that server. */
export function isFinalPythonFault(body: unknown): boolean {
  const fault = pythonFaultSchema.safeParse(body);
  return fault.success && finalTypes.has(fault.data.error_type);
}

/** Decodes such a fault; null for other responses. */
export function errorFromPythonFault(body: unknown): AgentLightningError | null {
  const fault = pythonFaultSchema.safeParse(body);
  if (!fault.success) return null;
  const { error_type, traceback } = fault.data;
  const reason = traceback.trimEnd().split('\n').at(-1) ?? error_type;
  const [, kind, id] = /: (Rollout|Attempt) (\S+) not found/.exec(reason) ?? missingKeyOf(reason);
  if (kind !== undefined && id !== undefined) return new NotFoundError(kind, id);
  // A missing rollout is null, which fails the response validation of that server.
  if (error_type === 'ResponseValidationError') {
    const message = 'The store has nothing under the id that it was asked for';
    return new AgentLightningError({ code: 'NOT_FOUND', message, details: { errorType: error_type } });
  }
  if (finalTypes.has(error_type)) return new ValidationError('Request', [{ path: '', message: reason }]);
  return new AgentLightningError({
    code: 'UNREACHABLE',
    message: `The store failed: ${reason.slice(0, 500)}`,
    remedy: 'Read the log of the store server.',
    details: { errorType: error_type },
  });
}

/** The last part of the missing key: an attempt's key starts with its rollout's. */
function missingKeyOf(reason: string): readonly (string | undefined)[] {
  if (!reason.includes('does not exist with primary key(s): ')) return [];
  const key = /\b(\w+)_id='([^']*)'$/.exec(reason);
  const kind = key?.[1];
  return kind === undefined ? [] : ['', kind.charAt(0).toUpperCase() + kind.slice(1), key?.[2]];
}
