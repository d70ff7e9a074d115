import { AgentLightningError } from '../base/agent-lightning-error.ts';
import type { ErrorCode } from '../base/error-catalogue.ts';
import type { JsonObject } from '../base/json.ts';
import { isObject } from '../base/json-access.ts';
import type { Attempt } from './attempt.ts';

/**
 * Cause of a failure: `agent` for the agent's code, its task and its time limit; `infrastructure` for the services
 * around it, which includes a model that did not respond for half of the time limit. An infrastructure failure says nothing
 * about the agent and never becomes a reward.
 */
export type FailureOrigin = 'agent' | 'infrastructure';

const infrastructureCodes: ReadonlySet<ErrorCode> = new Set<ErrorCode>([
  'UNREACHABLE',
  'UPSTREAM_FAILED',
  'ENVIRONMENT_FAILED',
  'RUNTIME_UNAVAILABLE',
  'STORE_FULL',
  'STORE_SCHEMA',
  'RESOURCE_EXHAUSTED',
  'PRECONDITION_FAILED',
]);

/** Statuses of a gateway or proxy without a working upstream: bad gateway, service unavailable, gateway timeout. */
const infrastructureStatuses: ReadonlySet<unknown> = new Set([502, 503, 504]);

/** Error codes of Node.js and undici for failed and broken connections. */
const connectionCodes: ReadonlySet<unknown> = new Set([
  'ECONNREFUSED',
  'ECONNRESET',
  'ECONNABORTED',
  'EPIPE',
  'ENOTFOUND',
  'EAI_AGAIN',
  'ETIMEDOUT',
  'EHOSTUNREACH',
  'ENETUNREACH',
  'UND_ERR_SOCKET',
  'UND_ERR_CONNECT_TIMEOUT',
  'UND_ERR_HEADERS_TIMEOUT',
  'UND_ERR_BODY_TIMEOUT',
]);

/** Error codes of the gateway within a stream of a model response, which clients of a model API copy to their errors. */
const gatewayCodes: ReadonlySet<unknown> = new Set<ErrorCode>(['UNREACHABLE', 'UPSTREAM_FAILED']);

/** Maximum depth of a chain of causes. */
const maxDepth = 8;

/**
 * Origin of the error that ended an attempt. It is `infrastructure` when the error, or one of its causes, is a broken
 * or refused connection, an HTTP response 502, 503 or 504, the gateway's error within a stream, or an unavailability error
 * of this project. Causes are followed through `cause`, `lastError` and `errors`.
 */
export function failureOriginOf(error: unknown): FailureOrigin {
  return isInfrastructureError(error, 0) ? 'infrastructure' : 'agent';
}

/** Whether an HTTP status reports an unavailable service: 502, 503 or 504. */
export function isInfrastructureStatus(status: number): boolean {
  return infrastructureStatuses.has(status);
}

function isInfrastructureError(error: unknown, depth: number): boolean {
  if (typeof error !== 'object' || error === null || depth > maxDepth) return false;
  const { code, status, statusCode, cause, lastError, errors } = error as Readonly<Record<string, unknown>>;
  if (AgentLightningError.isInstance(error) && infrastructureCodes.has(error.code)) return true;
  if (connectionCodes.has(code) || gatewayCodes.has(code)) return true;
  if (infrastructureStatuses.has(status) || infrastructureStatuses.has(statusCode)) return true;
  const nested = [cause, lastError, ...(Array.isArray(errors) ? (errors as readonly unknown[]) : [])];
  return nested.some((inner) => isInfrastructureError(inner, depth + 1));
}

/** The failure of an attempt, as stored in its metadata under `error`. */
export interface RecordedFailure {
  readonly code: string;
  readonly message: string;
  /** What to do about it. Absent for an error of the agent, which has none. */
  readonly remedy?: string;
  readonly origin: FailureOrigin;
}

/** Metadata of a failed attempt. */
export function failureMetadata(
  attempt: Pick<Attempt, 'metadata'>,
  error: AgentLightningError,
  origin: FailureOrigin = failureOriginOf(error),
): JsonObject {
  const { code, message } = error;
  const remedy = code === 'AGENT_FAILED' ? {} : { remedy: error.remedy };
  return { ...attempt.metadata, error: { code, message, ...remedy, origin } };
}

/** The failure recorded by the attempt's runner; null without one. */
export function recordedFailure({ metadata }: Pick<Attempt, 'metadata'>): RecordedFailure | null {
  const error = metadata?.['error'];
  if (!isObject(error)) return null;
  const { code, message, remedy, origin } = error;
  if (typeof code !== 'string' || typeof message !== 'string') return null;
  return {
    code,
    message,
    ...(typeof remedy === 'string' ? { remedy } : {}),
    origin: origin === 'infrastructure' ? 'infrastructure' : 'agent',
  };
}

/**
 * Origin of an attempt's failure; null when it did not fail. An attempt without a heartbeat, or with a timeout that its
 * runner did not record, lost its runner.
 */
export function attemptFailureOrigin(attempt: Pick<Attempt, 'status' | 'metadata'>): FailureOrigin | null {
  const { status } = attempt;
  if (status !== 'failed' && status !== 'timeout' && status !== 'unresponsive') return null;
  const recorded = recordedFailure(attempt);
  if (recorded !== null) return recorded.origin;
  return status === 'failed' ? 'agent' : 'infrastructure';
}
