import { randomBytes } from 'node:crypto';
import { AgentLightningError } from '@agentlightning/core';
import type { ViewerAuthenticator } from '@agentlightning/dashboard';
import { viewerCookie } from '@agentlightning/dashboard/internal';
import type { StoreHandler } from '@agentlightning/store';

/** A signed-in viewer. */
interface Session {
  readonly authorization: string;
  /** The project that an admin has selected; null for that of the key. */
  project: string | null;
}

/** The most sessions of a key; the oldest of them ends when there is one more. */
const maxSessionsOfKey = 20;

const right = 'project:read';
const action = 'read the dashboard';

/** The only request with a session that changes something. */
const annotationPath = /^\/api\/rollouts\/[^/]+\/annotations$/;

/**
 * The viewers that signed in at the dashboard with a key of the server. The cookie is a random number, and the key is
 * checked at every request: a revoked key ends its sessions. Sessions end with the server.
 */
export class DashboardSessions {
  readonly #authorize: StoreHandler['authorize'];
  readonly #sessions = new Map<string, Session>();

  constructor(authorize: StoreHandler['authorize']) {
    this.#authorize = authorize;
  }

  /** Authenticates the viewers of a project. */
  viewersOf(project: string): ViewerAuthenticator {
    return {
      cookieFor: (key) => this.#signIn(key),
      // The listener has added the key of the session.
      assertViewer: async (authorization) => {
        await this.#authorize({ authorization, project, right, action });
      },
      assertAnnotator: async (authorization) => {
        await this.#authorize({ authorization, project, right: 'project:write', action: 'annotate rollouts' });
      },
    };
  }

  /**
   * A request with the key and the project of its session; the request itself without one. Requests that change something
   * need their own key, except annotations: the dashboard rejects those from other origins.
   */
  withKey(request: Request): Request {
    const session = this.#sessionOf(request);
    if (session === undefined || request.headers.has('authorization')) return request;
    const url = new URL(request.url);
    const { method, signal, body } = request;
    const isAnnotation = method === 'POST' && annotationPath.test(url.pathname);
    if (method !== 'GET' && !isAnnotation) return request;
    const headers = new Headers(request.headers);
    headers.set('authorization', session.authorization);
    if (session.project !== null) url.pathname = `/projects/${session.project}${url.pathname}`;
    return new Request(url, { method, headers, signal, ...(isAnnotation && { body, duplex: 'half' }) });
  }

  /** Selects the project that an admin sees at the dashboard; null for the default one. */
  select(request: Request, project: string | null): void {
    const session = this.#sessionOf(request);
    if (session !== undefined) session.project = project;
  }

  /** Whether a request has a session. */
  has(request: Request): boolean {
    return this.#sessionOf(request) !== undefined;
  }

  async #signIn(key: string): Promise<string | null> {
    const authorization = `Bearer ${key.trim()}`;
    try {
      await this.#authorize({ authorization, right, action });
    } catch (error) {
      if (AgentLightningError.isInstance(error)) return null;
      throw error;
    }
    const own = [...this.#sessions].filter(([, session]) => session.authorization === authorization);
    const [oldest] = own;
    if (own.length >= maxSessionsOfKey && oldest !== undefined) this.#sessions.delete(oldest[0]);
    const id = randomBytes(32).toString('base64url');
    this.#sessions.set(id, { authorization, project: null });
    return id;
  }

  #sessionOf(request: Request): Session | undefined {
    const cookies = (request.headers.get('cookie') ?? '').split(/; */);
    const cookie = cookies.find((each) => each.startsWith(`${viewerCookie}=`));
    return cookie === undefined ? undefined : this.#sessions.get(cookie.slice(viewerCookie.length + 1));
  }
}
