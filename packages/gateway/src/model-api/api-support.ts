import type { RegisteredUpstream } from '../upstream/registered-upstream.ts';
import type { UpstreamResult } from '../upstream/send-to-upstream.ts';

/** An optional API of an upstream. */
export type TranslatableApi = 'responses' | 'messages';

/**
 * Whether calls of an API are sent to an upstream as Chat Completions.
 *
 * The upstream's `apis` decide if set. Otherwise an upstream with `capture: 'tokens'` gets Chat Completions, the only API
 * that returns token ids; any other gets the agent's API until it was found to lack it.
 */
export function translates(upstream: RegisteredUpstream, api: TranslatableApi): boolean {
  const { apis } = upstream.given;
  if (apis !== undefined) return !apis.includes(api);
  return upstream.capture === 'tokens' || upstream.lackedApis.has(api);
}

/** Whether a response shows that the upstream lacks an API; remembers the result. */
export function lacksApi({ upstream, response: { status }, text }: UpstreamResult, api: TranslatableApi): boolean {
  if (upstream.given.apis !== undefined) return false;
  // An unknown model is a 404 as well, but shows that the API exists.
  const isLacking = status === 405 || status === 501 || (status === 404 && !/model/i.test(text ?? ''));
  if (isLacking) upstream.lackedApis.add(api);
  return isLacking;
}
