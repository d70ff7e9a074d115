import type { EndedCall } from '../capture/call-recorder.ts';
import type { GatewayLog } from '../gateway-options.ts';
import type { RegisteredUpstream } from '../upstream/registered-upstream.ts';

/** Learns from whole answers whether an upstream gives token ids, and says once when one does not. */
export function noteTokenSupport(ended: EndedCall, log: GatewayLog): void {
  const { asked, upstream, answer, failure } = ended;
  if (!asked.asksForTokens || upstream === null || failure !== null || upstream.capture === 'text') return;
  const isGiven =
    answer.promptTokenIds.length > 0 || answer.choices.some((choice) => choice.responseTokenIds.length > 0);
  const support = isGiven ? 'given' : 'missing';
  if (upstream.tokenSupport === support) return;
  tell(upstream, support, log);
  upstream.tokenSupport = support;
}

function tell(upstream: RegisteredUpstream, support: 'given' | 'missing', log: GatewayLog): void {
  if (support === 'given') return;
  const message = 'a model endpoint tells no token ids; its calls cannot be trained on';
  const remedy =
    'Use an engine that knows return_token_ids (vLLM 0.10.2 or later), or say capture: text to ask for none.';
  log.warn({ upstream: upstream.id, remedy }, message);
}
