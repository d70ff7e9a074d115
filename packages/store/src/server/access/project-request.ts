import { NotFoundError } from '@agentlightning/core';
import { defaultProject } from '@agentlightning/core/protocol';
import type { ProjectStores } from '../../projects/project-stores.ts';
import type { Authenticator } from './authenticator.ts';
import { projectOf } from './bearer.ts';

/** A request with its project. */
export interface ProjectRequest {
  readonly project: string;
  /** Without the prefix of the project in its path. */
  readonly request: Request;
}

interface KeyedRequest extends ProjectRequest {
  /** Whether it has a valid key. */
  readonly isKeyed: boolean;
}

const prefix = /^\/projects\/([^/]*)(\/.*|$)/;

/** Headers that may contain the key: those of the OpenAI, Anthropic and Azure clients after the usual one. */
const keyHeaders: readonly string[] = ['authorization', 'x-api-key', 'api-key'];

/**
 * Determines the project of a request: that of its key or token. An admin key selects one by the prefix
 * `/projects/<name>` of the path; other requests with a prefix must be of that project. Requests without a valid key are of
 * the default project, which rejects them.
 *
 * @throws NotFoundError for a project that does not exist, or not for this key
 */
export async function projectOfRequest(
  request: Request,
  {
    authenticator,
    projects,
  }: { readonly authenticator: Authenticator; readonly projects: Pick<ProjectStores, 'names'> },
): Promise<KeyedRequest> {
  const url = new URL(request.url);
  const [, named = null, rest = '/'] = prefix.exec(url.pathname) ?? [];
  const own = await projectOfKey(request.headers, authenticator);
  if (named === null) return { project: own ?? defaultProject, request, isKeyed: own !== undefined };
  url.pathname = rest === '' ? '/' : rest;
  const unprefixed = withUrl(request, url);
  if (own === undefined) return { project: defaultProject, request: unprefixed, isKeyed: false };
  const isKnown = own === named || (own === null && (await projects.names()).includes(named));
  if (!isKnown) throw new NotFoundError('Project', named);
  return { project: named, request: unprefixed, isKeyed: true };
}

/** The project of the request's key; null for all projects, undefined without a valid key. */
async function projectOfKey(headers: Headers, authenticator: Authenticator): Promise<string | null | undefined> {
  const key = keyHeaders.map((name) => headers.get(name)).find((value) => value !== null);
  const authorization = key === undefined || key === null || key.includes(' ') ? key : `Bearer ${key}`;
  return await authenticator.bearerOf(authorization ?? undefined).then(projectOf, () => undefined);
}

function withUrl(request: Request, url: URL): Request {
  const { method, headers, body, signal } = request;
  return new Request(url, { method, headers, body, signal, ...(body === null ? {} : { duplex: 'half' as const }) });
}
