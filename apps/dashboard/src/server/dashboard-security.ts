import type { Hono } from 'hono';
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
export function addSecurity(app: Hono, access: ViewerAccess): void {
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
  app.post('/session', bodyLimit({ maxSize: 4096 }), async (request) => {
    const { key } = await request.req.parseBody();
    const cookie = typeof key === 'string' ? await access.cookieFor(key) : null;
    if (cookie === null) return request.redirect('/?signIn=failed', 303);
    setCookie(request, viewerCookie, cookie, { path: '/', httpOnly: true, sameSite: 'Strict' });
    return request.redirect('/', 303);
  });
  app.use('/api/*', async (request, next) => {
    await access.assertViewer(request.req.header('authorization'), getCookie(request, viewerCookie));
    await next();
  });
}
