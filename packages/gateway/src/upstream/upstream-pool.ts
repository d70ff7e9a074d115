import { createHash } from 'node:crypto';
import { AgentLightningError } from '@agentlightning/core';
import type { Upstream } from '../gateway-options.ts';

/** The upstreams that calls may go to, and which of them a call goes to. */
export class UpstreamPool {
  #upstreams: readonly Upstream[] = [];

  constructor(upstream: Upstream | readonly Upstream[]) {
    this.set(upstream);
  }

  /** Replaces all of them; calls under way stay where they are. @throws AgentLightningError with code CONFIG */
  set(upstream: Upstream | readonly Upstream[]): void {
    const upstreams = isList(upstream) ? upstream : [upstream];
    if (upstreams.length === 0) throw badUpstream('no upstream is given', 'Give at least one.');
    this.#upstreams = upstreams.map((entry) => ({ ...entry, baseUrl: checkedBaseUrl(entry.baseUrl) }));
  }

  get all(): readonly Upstream[] {
    return this.#upstreams;
  }

  /**
   * The upstreams for a call, the preferred one first, at least one.
   *
   * @param model - what the call asks for; null when it does not say
   * @param stickyKey - calls with the same key prefer the same upstream: its cache knows their prompts
   */
  choose(model: string | null, stickyKey: string | null): readonly Upstream[] {
    const fallback = this.#upstreams[0]?.model ?? null;
    const exact = this.#upstreams.filter((upstream) => upstream.model === model && model !== null);
    const equals = exact.length > 0 ? exact : this.#upstreams.filter((entry) => (entry.model ?? null) === fallback);
    if (equals.length === 1 || stickyKey === null) return equals;
    const offset = createHash('sha256').update(stickyKey).digest().readUInt32BE(0) % equals.length;
    return [...equals.slice(offset), ...equals.slice(0, offset)];
  }
}

function isList(upstream: Upstream | readonly Upstream[]): upstream is readonly Upstream[] {
  return Array.isArray(upstream);
}

function checkedBaseUrl(baseUrl: string): string {
  const url = URL.canParse(baseUrl) ? new URL(baseUrl) : null;
  if (url === null || !['http:', 'https:'].includes(url.protocol)) {
    throw badUpstream(`the upstream's base URL ${baseUrl} is not an http(s) URL`, 'Write it as http://host:port/v1.');
  }
  if (url.username !== '' || url.password !== '') {
    throw badUpstream(`the upstream's base URL for ${url.host} has credentials in it`, 'Give them as `apiKey`.');
  }
  return baseUrl.replace(/\/+$/, '');
}

function badUpstream(message: string, remedy: string): AgentLightningError {
  return new AgentLightningError({ code: 'CONFIG', message, remedy });
}
