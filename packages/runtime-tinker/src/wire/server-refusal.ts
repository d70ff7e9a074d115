import { AgentLightningError, type ErrorCode } from '@agentlightning/core';

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

const remedyOfStatus: Readonly<Record<number, string>> = {
  401: 'Pass a valid key of the server as `apiKey`.',
  402: "Add funds to the server's account, then resume the run.",
  403: 'Pass a key with access to this model as `apiKey`.',
  404: 'Check the base URL, the name of the model, and whether a checkpoint has expired on the server.',
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
export function lostOf(path: string, reply: TinkerReply): AgentLightningError {
  return new AgentLightningError({
    code: 'RUNTIME_UNAVAILABLE',
    message: `The Tinker server no longer has the models of this session, as after a restart: ${refusal(path, reply).message}`,
    remedy: 'Resume the run from its last checkpoint.',
    details: { status: reply.status },
  });
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
