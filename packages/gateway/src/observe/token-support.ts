import type { EndedCall } from '../capture/call-recorder.ts';
import type { GatewayLog } from '../gateway-options.ts';
import type { RegisteredUpstream } from '../upstream/registered-upstream.ts';

/** Learns from complete responses whether an upstream returns token ids, and warns once when it does not. */
export function noteTokenSupport(ended: EndedCall, log: GatewayLog): void {
  const { parameters, upstream, captured, failure } = ended;
  if (!parameters.requestsTokens || upstream === null || failure !== null || upstream.capture === 'text') return;
  const isGiven =
    captured.promptTokenIds.length > 0 || captured.choices.some((choice) => choice.responseTokenIds.length > 0);
  const support = isGiven ? 'given' : 'missing';
  if (upstream.tokenSupport === support) return;
  warnIfMissing(upstream, support, log);
  upstream.tokenSupport = support;
}

function warnIfMissing(upstream: RegisteredUpstream, support: 'given' | 'missing', log: GatewayLog): void {
  if (support === 'given') return;
  const message = 'a model endpoint returns no token ids; its calls cannot be trained on';
  const remedy = 'Use an engine that supports return_token_ids (vLLM 0.10.2 or later), or set capture: text.';
  log.warn({ upstream: upstream.id, remedy }, message);
}
