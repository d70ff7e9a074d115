import type { CapturedResponse } from '@agentlightning/core/internal';
import type { GatewayLog } from '../wire/gateway-options.ts';
import type { RegisteredUpstream } from './registered-upstream.ts';

/** Learns from a complete response to a request for token ids whether an upstream has them, and warns once when it does not. */
export function noteTokenSupport(
  upstream: RegisteredUpstream,
  captured: Pick<CapturedResponse, 'promptTokenIds' | 'choices'>,
  log: GatewayLog,
): void {
  if (upstream.capture === 'text') return;
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
