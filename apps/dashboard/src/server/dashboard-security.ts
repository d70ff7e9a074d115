import type { IncomingMessage } from 'node:http';
import { AgentLightningError, type Clock } from '@agentlightning/core';
import type { Context, Hono, MiddlewareHandler } from 'hono';
import { bodyLimit } from 'hono/body-limit';
import { getCookie, setCookie } from 'hono/cookie';
import { type ViewerAccess, viewerCookie } from './viewer-access.ts';

/** No inline script or style, no other host. Traces contain text of agents and models, which is hostile. */
const contentSecurityPolicy = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self' data:",
  "connect-src 'self'",
  "form-action 'self'",
  "base-uri 'none'",
  "frame-ancestors 'none'",
].join('; ');

/**
 * Adds the security of the dashboard, before its routes: response headers with the content security policy, the check of the
 * origin, the sign-in with a cookie, and the authentication of API requests. {@link ViewerAccess} makes the decisions.
 */
export function addSecurity(app: Hono, access: ViewerAccess, clock: Clock): void {
  app.use(async (request, next) => {
    request.header('content-security-policy', contentSecurityPolicy);
    request.header('x-content-type-options', 'nosniff');
    // Not `no-referrer`: the sign-in form would then be sent without its origin.
    request.header('referrer-policy', 'same-origin');
    request.header('cross-origin-resource-policy', 'same-origin');
    request.header('cache-control', 'no-store');
    access.assertSameOrigin(request.req.raw.headers);
    await next();
  });
  const failures = new SignInFailures(clock);
  app.post('/session', limitedBody(4096), async (request) => {
    const address = addressOf(request);
    failures.assertFew(address);
    // A body that is not a form has no key.
    const { key } = await request.req.parseBody().catch(() => ({ key: null }));
    const cookie = typeof key === 'string' ? await access.cookieFor(key) : null;
    if (cookie === null) {
      failures.add(address);
      return request.redirect('/?signIn=failed', 303);
    }
    setCookie(request, viewerCookie, cookie, { path: '/', httpOnly: true, sameSite: 'Strict' });
    return request.redirect('/', 303);
  });
  app.use('/api/*', async (request, next) => {
    await access.assertViewer(request.req.header('authorization'), getCookie(request, viewerCookie));
    await next();
  });
}

/** Rejects larger bodies. */
export function limitedBody(maxSize: number): MiddlewareHandler {
  return bodyLimit({
    maxSize,
    onError: () => {
      throw new AgentLightningError({
        code: 'PAYLOAD_TOO_LARGE',
        message: `Request body exceeds ${maxSize} bytes.`,
        remedy: 'Send less.',
      });
    },
  });
}

/** The most failed sign-ins of an address within {@link failurePeriodMs}. */
const maxFailures = 10;

const failurePeriodMs = 60_000;

/** The most addresses in memory. */
const maxAddresses = 10_000;

/** Limits how fast an address can guess keys. */
class SignInFailures {
  readonly #clock: Clock;
  readonly #failures = new Map<string, { count: number; readonly untilMs: number }>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** @throws AgentLightningError RESOURCE_EXHAUSTED */
  assertFew(address: string): void {
    const known = this.#failures.get(address);
    if (known === undefined || known.untilMs <= this.#clock.now() || known.count < maxFailures) return;
    throw new AgentLightningError({
      code: 'RESOURCE_EXHAUSTED',
      message: `Sign-in refused: ${known.count} wrong keys within a minute.`,
      remedy: 'Wait a minute, then sign in with the key of the dashboard.',
    });
  }

  add(address: string): void {
    const nowMs = this.#clock.now();
    const known = this.#failures.get(address);
    if (known !== undefined && known.untilMs > nowMs) {
      known.count += 1;
      return;
    }
    this.#failures.delete(address);
    this.#failures.set(address, { count: 1, untilMs: nowMs + failurePeriodMs });
    const [oldest] = this.#failures.keys();
    if (this.#failures.size > maxAddresses && oldest !== undefined) this.#failures.delete(oldest);
  }
}

/** The address of a client; empty where the server does not know it. */
function addressOf({ env }: Context): string {
  const { incoming } = (env ?? {}) as { readonly incoming?: IncomingMessage };
  return incoming?.socket.remoteAddress ?? '';
}
