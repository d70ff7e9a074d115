import { createHash, timingSafeEqual } from 'node:crypto';
import { AgentLightningError } from '@agentlightning/core';
import { foreignRequest } from '@agentlightning/core/protocol';

/** Name of the cookie of a signed-in viewer. */
export const viewerCookie = 'agl_viewer';

/** Decides who may read. */
export class ViewerAccess {
  /** Digest of the viewer key; null when no key is required. */
  readonly #digest: string | null;
  readonly #isLoopback: boolean;

  constructor(options: { readonly viewerKey: string | null; readonly isLoopback: boolean }) {
    this.#digest = options.viewerKey === null ? null : digestOf(options.viewerKey);
    this.#isLoopback = options.isLoopback;
  }

  /**
   * Rejects requests of foreign web pages and for foreign hosts (DNS rebinding).
   *
   * @throws AgentLightningError PERMISSION_DENIED
   */
  assertSameOrigin(headers: Headers): void {
    const provenance = { host: headers.get('host'), origin: headers.get('origin') };
    const reason = this.#isLoopback ? foreignRequest(provenance) : otherOrigin(provenance);
    if (reason === null) return;
    throw new AgentLightningError({
      code: 'PERMISSION_DENIED',
      message: `Request refused: ${reason}`,
      remedy: 'Open the dashboard at the address that `agl dashboard` prints.',
    });
  }

  /**
   * Rejects viewers without the key.
   *
   * @param bearer - the `Authorization` header
   * @param cookie - the value of {@link viewerCookie}
   * @throws AgentLightningError UNAUTHENTICATED
   */
  assertViewer(bearer: string | undefined, cookie: string | undefined): void {
    if (this.#digest === null) return;
    const key = bearer?.startsWith('Bearer ') ? bearer.slice('Bearer '.length) : undefined;
    if (key !== undefined && isEqual(digestOf(key), this.#digest)) return;
    if (cookie !== undefined && isEqual(cookie, this.#digest)) return;
    throw new AgentLightningError({
      code: 'UNAUTHENTICATED',
      message: 'Viewer key is missing or wrong.',
      remedy: 'Enter the key that the dashboard was started with (AGL_DASHBOARD_KEY).',
    });
  }

  /** The cookie for a viewer who sent a key; null when the key is wrong. */
  cookieFor(key: string): string | null {
    const digest = digestOf(key);
    return this.#digest !== null && isEqual(digest, this.#digest) ? digest : null;
  }
}

/** The reason to reject a request at an address of the network; null for a request of the dashboard's page. */
function otherOrigin({
  host,
  origin,
}: {
  readonly host: string | null;
  readonly origin: string | null;
}): string | null {
  if (origin === null) return null;
  const isSame = URL.canParse(origin) && new URL(origin).host === host;
  return isSame ? null : `the request came from a web page of ${origin}`;
}

function digestOf(key: string): string {
  return createHash('sha256').update(`agentlightning viewer ${key}`).digest('hex');
}

function isEqual(one: string, other: string): boolean {
  const [left, right] = [Buffer.from(one), Buffer.from(other)];
  return left.length === right.length && timingSafeEqual(left, right);
}
