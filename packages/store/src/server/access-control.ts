import { createHash, timingSafeEqual } from 'node:crypto';
import { isIP } from 'node:net';
import { AgentLightningError } from '@agentlightning/core';
import type { MiddlewareHandler } from 'hono';

/** Lets in only requests that carry the key. */
export function requireKey(apiKey: string): MiddlewareHandler {
  const expected = digest(apiKey);
  return async (context, next) => {
    const given = /^Bearer (.+)$/i.exec(context.req.header('authorization') ?? '')?.[1];
    // Digests have one length, so that comparing them takes the same time for every key.
    if (given === undefined || !timingSafeEqual(digest(given), expected)) {
      throw new AgentLightningError({
        code: 'UNAUTHENTICATED',
        message: given === undefined ? 'The request carries no key' : 'The key of the request is wrong',
      });
    }
    await next();
  };
}

/**
 * Lets in only requests that name this machine as their host. A server without a key trusts whoever is on
 * the machine, and a web page that is read there must not pass for one of them by way of a name of its own.
 */
export const requireLoopbackHost: MiddlewareHandler = async (context, next) => {
  const { hostname } = new URL(context.req.url);
  if (!isLoopback(hostname)) {
    throw new AgentLightningError({
      code: 'PERMISSION_DENIED',
      message: `A store without a key answers on this machine only, and the request was for ${hostname}`,
      remedy: 'Call it at localhost, or start it with a key.',
    });
  }
  await next();
};

/**
 * Refuses to listen to the network without a key.
 *
 * @throws AgentLightningError CONFIG
 */
export function assertMayListen(host: string, apiKey: string | null): void {
  if (apiKey !== null && apiKey !== '') return;
  if (apiKey === null && isLoopback(host)) return;
  throw new AgentLightningError({
    code: 'CONFIG',
    message: apiKey === '' ? 'The key of the store is empty' : `A store without a key may not listen on ${host}`,
    remedy: 'Give it a key, or let it listen on 127.0.0.1.',
  });
}

function isLoopback(host: string): boolean {
  const name = host.replace(/^\[|\]$/g, '');
  if (isIP(name) === 4) return name.startsWith('127.');
  return name === '::1' || name === 'localhost' || name.endsWith('.localhost');
}

function digest(text: string): Buffer {
  return createHash('sha256').update(text).digest();
}
