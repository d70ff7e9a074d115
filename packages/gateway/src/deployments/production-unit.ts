import { createHmac } from 'node:crypto';
import type { JsonObject } from '@agentlightning/core';

import { headerNames } from '@agentlightning/core/protocol';
import { newTraceId } from '@agentlightning/core/store';
import type { DeploymentRoute } from '../wire/gateway-options.ts';
import { objectOf, textOf } from '../wire/json-access.ts';

/** The user, conversation and trace of a call of a deployment, as its request names them. */
export interface ProductionUnit {
  readonly user: string | null;
  readonly conversation: string | null;
  /** The OpenTelemetry trace that the call is in; a new id when the request names none. */
  readonly traceId: string;
}

/** The longest id that is read. */
const maxIdLength = 256;

/**
 * Reads the unit of a call: the user from `x-agl-user`, or the fields `safety_identifier`, `user` and `metadata.user_id` of the model
 * APIs; the conversation from `x-agl-conversation`, or `metadata.conversation_id`, `session_id` and `thread_id`; the trace from
 * `x-agl-trace-id` or `traceparent`.
 */
export function productionUnit(request: JsonObject, headers: Headers): ProductionUnit {
  const metadata = objectOf(request.metadata);
  const [, parentTrace = null] = /^[0-9a-f]{2}-([0-9a-f]{32})-/.exec(headers.get('traceparent') ?? '') ?? [];
  const ownTrace = headers.get(headerNames.traceId);
  return {
    user: firstId([headers.get(headerNames.user), request.safety_identifier, request.user, metadata.user_id]),
    conversation: firstId([
      headers.get(headerNames.conversation),
      metadata.conversation_id,
      metadata.session_id,
      metadata.thread_id,
    ]),
    traceId: ownTrace !== null && /^[0-9a-f]{32}$/.test(ownTrace) ? ownTrace : (parentTrace ?? newTraceId()),
  };
}

/**
 * Whether a call is for the candidate. The keyed hash of the user, else of the conversation, else of the trace, is a number in [0, 1):
 * those below the share are in it. So the same user gets the same version from every gateway, and a larger share keeps those
 * that a smaller one had.
 */
export function isForCandidate({ candidate }: DeploymentRoute, unit: ProductionUnit): boolean {
  if (candidate === null) return false;
  const { user, conversation, traceId } = unit;
  const id = user === null ? (conversation === null ? `t:${traceId}` : `c:${conversation}`) : `u:${user}`;
  const digest = createHmac('sha256', candidate.key).update(id).digest();
  return digest.readUIntBE(0, 6) / 2 ** 48 < candidate.share;
}

function firstId(values: readonly unknown[]): string | null {
  for (const value of values) {
    const text = typeof value === 'string' ? textOf(value) : null;
    if (text !== null && text !== '' && text.length <= maxIdLength) return text;
  }
  return null;
}
