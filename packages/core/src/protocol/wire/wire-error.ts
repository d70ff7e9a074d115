import * as z from 'zod';
import {
  AgentLightningError,
  IllegalTransitionError,
  NotFoundError,
  ValidationError,
} from '../../base/agent-lightning-error.ts';
import { defaultRemedies, type ErrorCode } from '../../base/error-catalogue.ts';
import type { JsonObject } from '../../base/json.ts';
import { wireJsonObject } from './wire-json.ts';
import { errorFromPythonFault } from './wire-python-fault.ts';

/** HTTP status of an error code; 500 by default. */
export function httpStatusOf(code: ErrorCode): number {
  return httpStatuses[code] ?? 500;
}

const httpStatuses: Readonly<Partial<Record<ErrorCode, number>>> = {
  VALIDATION: 400,
  INVALID_REWARD: 400,
  UNAUTHENTICATED: 401,
  PERMISSION_DENIED: 403,
  NOT_FOUND: 404,
  CONFLICT: 409,
  ILLEGAL_TRANSITION: 409,
  PAYLOAD_TOO_LARGE: 413,
  QUOTA_EXCEEDED: 413,
  RESOURCE_EXHAUSTED: 429,
  PRECONDITION_FAILED: 503,
  TIMEOUT: 503,
  STORE_FULL: 507,
};

const errorCodes = Object.keys(defaultRemedies) as ErrorCode[];

/** Body of an error response. */
export interface ErrorBody {
  readonly error: { readonly code: string; readonly message: string; readonly remedy: string };
}

/** An error as a response body: message and remedy, never a stack trace. */
export const errorCodec: z.ZodType<AgentLightningError, ErrorBody> = z.codec(
  z.object({
    error: z.object({
      code: z.enum(errorCodes),
      message: z.string(),
      remedy: z.string(),
      details: wireJsonObject.optional(),
    }),
    detail: z.string().meta({ description: 'The message, for clients of Agent Lightning 0.3.' }),
  }),
  z.custom<AgentLightningError>(),
  {
    decode: ({ error: { code, message, remedy, details = {} } }) =>
      typedError(code, message, details) ?? new AgentLightningError({ code, message, remedy, details }),
    encode: ({ code, message: prefixed, remedy, details: values }) => {
      const message = prefixed.replace(`[${code}] `, '');
      const details = JSON.parse(JSON.stringify(values)) as JsonObject;
      return { error: { code, message, remedy, details }, detail: message };
    },
  },
);

/** Decodes an error response: exactly for a body of {@link errorCodec}, otherwise by status. */
export function errorFromWire(status: number, body: unknown): AgentLightningError {
  const parsed = errorCodec.safeParse(body);
  return parsed.success ? parsed.data : errorFromStatus(status, body);
}

function typedError(code: ErrorCode, message: string, details: JsonObject): AgentLightningError | null {
  const { kind, id, subject, from, to } = details;
  if (code === 'NOT_FOUND' && typeof kind === 'string' && typeof id === 'string') return new NotFoundError(kind, id);
  if (code === 'ILLEGAL_TRANSITION' && typeof subject === 'string') {
    return new IllegalTransitionError(subject, String(from), String(to));
  }
  if (code !== 'VALIDATION') return null;
  const issues = z.array(z.object({ path: z.string(), message: z.string() })).safeParse(details.issues);
  const what = /^(.*) is not valid: /.exec(message)?.[1];
  return issues.success && what !== undefined ? new ValidationError(what, issues.data) : null;
}

function errorFromStatus(status: number, body: unknown): AgentLightningError {
  const fault = errorFromPythonFault(body);
  if (fault !== null) return fault;
  const text = JSON.stringify(body)?.slice(0, 500) ?? 'nothing';
  return new AgentLightningError({
    code: codeOf(status),
    message: `The server responded with status ${status}: ${text}`,
    details: { status },
  });
}

function codeOf(status: number): ErrorCode {
  if (status === 400 || status === 422) return 'VALIDATION';
  if (status === 401) return 'UNAUTHENTICATED';
  if (status === 403) return 'PERMISSION_DENIED';
  if (status === 404 || status === 405) return 'NOT_FOUND';
  if (status === 409) return 'CONFLICT';
  if (status === 408) return 'TIMEOUT';
  if (status === 413) return 'PAYLOAD_TOO_LARGE';
  if (status === 429) return 'RESOURCE_EXHAUSTED';
  return status >= 500 ? 'UNREACHABLE' : 'INTERNAL';
}
