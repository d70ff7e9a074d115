import { AgentLightningError, type ErrorCode } from '@agentlightning/core';
import { errorMessage } from '@agentlightning/core/internal';

/** A response of the server. */
export interface TinkerReply {
  readonly status: number;
  /** Whether the body is a binary message; else it is JSON. */
  readonly isBinary: boolean;
  readonly body: Uint8Array;
}

/** Error codes of refusals by their status. Others are `RUNTIME_UNAVAILABLE`. */
const codeOfStatus: Readonly<Record<number, ErrorCode>> = {
  400: 'RUNTIME_REJECTED',
  401: 'UNAUTHENTICATED',
  402: 'RESOURCE_EXHAUSTED',
  403: 'UNAUTHENTICATED',
  404: 'NOT_FOUND',
  405: 'RUNTIME_REJECTED',
  409: 'CONFLICT',
  410: 'NOT_FOUND',
  413: 'PAYLOAD_TOO_LARGE',
  415: 'RUNTIME_REJECTED',
  422: 'RUNTIME_REJECTED',
  429: 'RESOURCE_EXHAUSTED',
  501: 'RUNTIME_REJECTED',
};

/** What to do when client and server do not understand each other. */
const versionRemedy =
  'Check that the address is that of a Tinker server, and its version: this client speaks the protocol of the SDK from 0.24 to 0.38.';

const remedyOfStatus: Readonly<Record<number, string>> = {
  401: 'Pass a valid key of the server as `apiKey`.',
  402: "Add funds to the server's account, then resume the run.",
  403: 'Pass a key with access to this model as `apiKey`.',
  404: 'Check the base URL, the name of the model, and whether a checkpoint has expired on the server.',
  405: versionRemedy,
  415: versionRemedy,
  422: versionRemedy,
  501: versionRemedy,
};

/** A refusal of the server as an error with the server's own words. */
export function refusal(path: string, { status, body }: TinkerReply): AgentLightningError {
  const remedy = remedyOfStatus[status];
  return new AgentLightningError({
    code: codeOfStatus[status] ?? 'RUNTIME_UNAVAILABLE',
    message: `The Tinker server refused ${path} with ${status}: ${textOf(body)}`,
    ...(remedy === undefined ? {} : { remedy }),
    details: { status },
  });
}

/** A model or a session that the server had, and does not know any more. */
export function lostBy(cause: AgentLightningError): AgentLightningError {
  return new AgentLightningError({
    code: 'RUNTIME_UNAVAILABLE',
    message: `The Tinker server no longer has the models of this session, as after a restart: ${textOfError(cause)}`,
    remedy: 'Resume the run from its last checkpoint.',
    details: cause.details,
    cause,
  });
}

/** A checkpoint that the server does not load. */
export function withoutCheckpoint(uri: string, cause: AgentLightningError): AgentLightningError {
  return new AgentLightningError({
    code: 'NOT_FOUND',
    message: `The Tinker server does not load the checkpoint ${uri}, which may have expired: ${textOfError(cause)}`,
    remedy: 'Use another checkpoint of the run, or begin a new run. Some servers delete checkpoints after a time.',
    details: cause.details,
    cause,
  });
}

/** A response in a form that this client does not know. */
export function unknownForm(path: string, cause: unknown): AgentLightningError {
  return new AgentLightningError({
    code: 'RUNTIME_REJECTED',
    message: `The Tinker server returned ${path} in an unknown form: ${textOfError(cause).slice(0, maxTextLength)}`,
    remedy: versionRemedy,
    cause,
  });
}

/** A server that reads passes in none of the forms of this client. */
export function unknownDialect(binary: TinkerReply, json: TinkerReply): AgentLightningError {
  return new AgentLightningError({
    code: 'RUNTIME_REJECTED',
    message: `The Tinker server reads passes neither as binary messages (${binary.status}: ${textOf(binary.body)}) nor as JSON (${json.status}: ${textOf(json.body)})`,
    remedy: versionRemedy,
  });
}

function textOfError(error: unknown): string {
  return errorMessage(error).replace(/^\[\w+\] /, '');
}

/** A failure that the server reports in the result of an operation. */
export function operationFailure(path: string, text: string, isByUser: boolean): AgentLightningError {
  return new AgentLightningError({
    code: isByUser ? 'RUNTIME_REJECTED' : 'RUNTIME_UNAVAILABLE',
    message: `The Tinker server failed ${path}: ${text}`,
  });
}

const maxTextLength = 500;

function textOf(body: Uint8Array): string {
  const text = new TextDecoder().decode(body);
  try {
    const { detail, error } = JSON.parse(text) as { detail?: unknown; error?: unknown };
    const found = detail ?? error ?? text;
    return (typeof found === 'string' ? found : JSON.stringify(found)).slice(0, maxTextLength);
  } catch {
    return text.slice(0, maxTextLength);
  }
}
