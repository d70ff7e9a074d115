import { createHash } from 'node:crypto';
import { AgentLightningError } from '@agentlightning/core';
import { crossOriginReason, isSameSecret } from '@agentlightning/core/protocol';

/** Name of the cookie of a signed-in viewer. */
export const viewerCookie = 'agl_viewer';

/** Authenticates viewers. */
export interface ViewerAuthenticator {
  /** Creates the cookie of a viewer who entered a key; null when the key is wrong. */
  cookieFor(key: string): Promise<string | null>;
  /**
   * Rejects requests without a valid key.
   *
   * @param bearer - the `Authorization` header
   * @param cookie - the value of {@link viewerCookie}
   * @throws AgentLightningError UNAUTHENTICATED, PERMISSION_DENIED
   */
  assertViewer(bearer: string | undefined, cookie: string | undefined): Promise<void>;
  /**
   * Rejects viewers who may only read.
   *
   * @param bearer - the `Authorization` header
   * @param cookie - the value of {@link viewerCookie}
   * @throws AgentLightningError UNAUTHENTICATED, PERMISSION_DENIED
   */
  assertAnnotator(bearer: string | undefined, cookie: string | undefined): Promise<void>;
}

/** Decides who may read, and who may annotate. */
export class ViewerAccess implements ViewerAuthenticator {
  /** Digest of the viewer key; null when no key is required. */
  readonly #digest: string | null;
  /** Digest of the key that permits annotations; null when no key does. */
  readonly #annotatorDigest: string | null;
  readonly #isLoopback: boolean;
  readonly #others: ViewerAuthenticator | null;

  constructor(options: {
    readonly viewerKey: string | null;
    readonly annotatorKey: string | null;
    readonly isLoopback: boolean;
    /** Authenticates viewers instead of the two keys. */
    readonly viewers?: ViewerAuthenticator | null;
  }) {
    this.#others = options.viewers ?? null;
    this.#digest = options.viewerKey === null ? null : digestOf(options.viewerKey);
    this.#annotatorDigest = options.annotatorKey === null ? null : digestOf(options.annotatorKey);
    this.#isLoopback = options.isLoopback;
  }

  /**
   * Rejects requests of foreign web pages and for foreign hosts (DNS rebinding).
   *
   * @throws AgentLightningError PERMISSION_DENIED
   */
  assertSameOrigin(headers: Headers): void {
    const provenance = { host: headers.get('host'), origin: headers.get('origin') };
    const reason = this.#isLoopback ? crossOriginReason(provenance) : otherOrigin(provenance);
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
  async assertViewer(bearer: string | undefined, cookie: string | undefined): Promise<void> {
    if (this.#others !== null) return await this.#others.assertViewer(bearer, cookie);
    if (this.#digest === null) return;
    const given = givenDigest(bearer, cookie);
    if (given !== null && isSameSecret(given, this.#digest)) return;
    if (given !== null && this.#annotatorDigest !== null && isSameSecret(given, this.#annotatorDigest)) return;
    throw new AgentLightningError({
      code: 'UNAUTHENTICATED',
      message: 'Viewer key is missing or wrong.',
      remedy: 'Enter the key that the dashboard was started with (AGL_DASHBOARD_KEY).',
    });
  }

  /**
   * Rejects viewers who may only read.
   *
   * @param bearer - the `Authorization` header
   * @param cookie - the value of {@link viewerCookie}
   * @throws AgentLightningError PERMISSION_DENIED
   */
  async assertAnnotator(bearer: string | undefined, cookie: string | undefined): Promise<void> {
    if (this.#others !== null) return await this.#others.assertAnnotator(bearer, cookie);
    if (this.#annotatorDigest === null && this.#digest === null) return;
    const given = givenDigest(bearer, cookie);
    if (given !== null && this.#annotatorDigest !== null && isSameSecret(given, this.#annotatorDigest)) return;
    throw new AgentLightningError({
      code: 'PERMISSION_DENIED',
      message: 'Annotation refused: the key permits viewing only.',
      remedy: 'Sign in with the key for annotations (AGL_DASHBOARD_ANNOTATOR_KEY).',
    });
  }

  /** The cookie for a viewer who sent a key; null when the key is wrong. */
  async cookieFor(key: string): Promise<string | null> {
    if (this.#others !== null) return await this.#others.cookieFor(key);
    const digest = digestOf(key);
    const known = [this.#digest, this.#annotatorDigest].filter((each) => each !== null);
    return known.some((each) => isSameSecret(digest, each)) ? digest : null;
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

/** The digest of the key in a request; null without one. */
function givenDigest(bearer: string | undefined, cookie: string | undefined): string | null {
  return bearer?.startsWith('Bearer ') ? digestOf(bearer.slice('Bearer '.length)) : (cookie ?? null);
}

function digestOf(key: string): string {
  return createHash('sha256').update(`agentlightning viewer ${key}`).digest('hex');
}
