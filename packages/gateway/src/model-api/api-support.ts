import type { RegisteredUpstream } from '../upstream/registered-upstream.ts';
import type { UpstreamResult } from '../upstream/upstream-caller.ts';

/** A model API that an upstream may lack. */
export type TranslatableApi = 'responses' | 'messages';

/**
 * Whether calls of an API go to an upstream as Chat Completions.
 *
 * What the upstream's `apis` say counts. Where they say nothing: only Chat Completions tell token ids, so an upstream
 * that is to tell them is asked by these; any other is asked in the agent's own API until it says it has none such.
 */
export function translates(upstream: RegisteredUpstream, api: TranslatableApi): boolean {
  const { apis } = upstream.given;
  if (apis !== undefined) return !apis.includes(api);
  return upstream.capture === 'tokens' || upstream.lackedApis.has(api);
}

/** Whether an answer says that the upstream does not have an API; it is remembered. */
export function lacksApi({ upstream, response: { status }, text }: UpstreamResult, api: TranslatableApi): boolean {
  if (upstream.given.apis !== undefined) return false;
  // An unknown model is a 404 as well, and a word of the API about itself.
  const isLacking = status === 405 || status === 501 || (status === 404 && !/model/i.test(text ?? ''));
  if (isLacking) upstream.lackedApis.add(api);
  return isLacking;
}
