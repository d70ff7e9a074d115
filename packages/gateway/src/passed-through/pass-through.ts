import { callingAgent } from '../capture/call-recorder.ts';
import type { GatewayParts, IncomingCall } from '../gateway-parts.ts';
import type { CallAnswer } from '../http/call-answer.ts';
import { callUpstream, type UpstreamResult } from '../upstream/call-upstream.ts';

/** A request that an upstream gets as it is. */
export interface PassedRequest {
  /** Below the upstream's base URL. */
  readonly path: string;
  /** What decides which upstream it goes to; null when it does not say. */
  readonly model: string | null;
  readonly body: string;
}

/** Sends a request on, and answers with what comes. @throws GatewayError when the upstream cannot be reached */
export async function passThrough(
  parts: GatewayParts,
  call: IncomingCall,
  request: PassedRequest,
): Promise<CallAnswer> {
  const { upstream, answer, text } = await passOn(parts, call, request);
  return { status: answer.status, headers: answer.headers, body: upstream.withoutSecrets(text ?? '') };
}

/** Sends a request on. @throws GatewayError when the upstream cannot be reached */
export function passOn(parts: GatewayParts, call: IncomingCall, request: PassedRequest): Promise<UpstreamResult> {
  const upstreams = parts.pool.choose(request.model, call.attempt?.rolloutId ?? null, callingAgent(call.headers));
  return callUpstream(parts.caller, upstreams, {
    path: request.path,
    method: 'POST',
    headers: call.forwardedHeaders,
    body: request.body,
    plainBody: null,
    signal: call.signal,
    observation: call.observation,
  });
}
