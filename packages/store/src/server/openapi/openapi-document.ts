import { z } from 'zod';
import { routeScopes } from '../access/route-scopes.ts';
import { namedSchemas } from './named-schemas.ts';
import { ownRouteDescriptions } from './own-route-descriptions.ts';
import { protocolRouteDescriptions } from './protocol-route-descriptions.ts';
import type { RouteDescription } from './route-description.ts';

/** A part of the document. */
type Part = Readonly<Record<string, unknown>>;

const registry = z.registry<{ readonly id: string }>();
for (const [id, schema] of Object.entries(namedSchemas)) registry.add(schema, { id });

const references = {
  uri: (id: string): string => `#/components/schemas/${id}`,
  unrepresentable: 'any',
  io: 'input',
} as const;

/** The OpenAPI 3.1 document of the store's server, generated from the validation schemas. */
export function openApiDocument(): Part {
  const paths: Record<string, Record<string, Part>> = {};
  for (const route of [...protocolRouteDescriptions, ...ownRouteDescriptions]) {
    const path = route.path.replace(/:(\w+)/g, (_, name: string) => `{${name}}`);
    paths[path] = { ...paths[path], [route.method]: operationOf(route) };
  }
  return {
    openapi: '3.1.0',
    info: {
      title: 'Agent Lightning store',
      version: '0.3.0',
      description:
        'The store protocol of Agent Lightning 0.3, and additions to it that leave it as it is. Times are Unix seconds.',
      license: { name: 'MIT', identifier: 'MIT' },
    },
    servers: [{ url: '/' }],
    security: [{}, { bearer: [] }, { password: [] }],
    tags: [...new Set([...protocolRouteDescriptions, ...ownRouteDescriptions].map(({ tag }) => tag))].map((name) => ({
      name,
    })),
    paths,
    components: {
      schemas: componentSchemas(),
      securitySchemes: {
        bearer: { type: 'http', scheme: 'bearer', description: 'An access key of the store, or an attempt token.' },
        password: {
          type: 'http',
          scheme: 'basic',
          description: 'The key as password, for clients without bearer authentication.',
        },
      },
    },
  };
}

function componentSchemas(): Part {
  const { schemas } = z.toJSONSchema(registry, references);
  return Object.fromEntries(Object.entries(schemas).map(([id, schema]) => [id, withoutIdentifiers(schema)]));
}

function operationOf(route: RouteDescription): Part {
  const { method, summary, tag, isInProtocol = false, status = 200 } = route;
  const parameters = [...pathParameters(route), ...queryParameters(route), ...headerParameters(route)];
  const body = bodyOf(route);
  return {
    operationId: `${method}${route.path.replace(/^\/v1(\/agl)?/, '').replace(/\W+(\w)/g, (_, letter: string) => letter.toUpperCase())}`,
    summary,
    description: isInProtocol
      ? 'In the protocol of Agent Lightning 0.3.'
      : 'Not in the protocol of Agent Lightning 0.3.',
    tags: [tag],
    'x-scope': routeScopes[`${method.toUpperCase()} ${route.path}`],
    ...(parameters.length === 0 ? {} : { parameters }),
    ...(body === null ? {} : { requestBody: body }),
    responses: {
      [status]: { description: status === 501 ? 'Not supported.' : 'Success.', ...answerOf(route) },
      default: { description: 'The error and its remedy.', content: jsonOf('Error') },
    },
  };
}

function pathParameters({ path }: RouteDescription): readonly Part[] {
  return [...path.matchAll(/:(\w+)/g)].map(([, name]) => ({
    name,
    in: 'path',
    required: true,
    schema: { type: 'string' },
  }));
}

function queryParameters({ query }: RouteDescription): readonly Part[] {
  if (query === undefined) return [];
  const { properties = {}, required = [] } = z.toJSONSchema(query, { unrepresentable: 'any', io: 'input' });
  return Object.entries(properties).map(([name, schema]) => ({
    name,
    in: 'query',
    required: required.includes(name),
    schema,
  }));
}

function headerParameters({ isOnce = false }: RouteDescription): readonly Part[] {
  const description =
    'Identical for all retries of a request: it is executed once, and each retry gets the same response.';
  const schema = { type: 'string', minLength: 1, maxLength: 255 };
  return isOnce ? [{ name: 'Idempotency-Key', in: 'header', required: false, description, schema }] : [];
}

function bodyOf({ body, isBodyOptional = false, otherTypes }: RouteDescription): Part | null {
  const content = { ...contentOf(otherTypes?.body), ...(body === undefined ? {} : jsonOf(body)) };
  return Object.keys(content).length === 0 ? null : { required: !isBodyOptional, content };
}

function answerOf({ answer, otherTypes }: RouteDescription): Part {
  const content = { ...contentOf(otherTypes?.answer), ...(answer === undefined ? {} : jsonOf(answer)) };
  return Object.keys(content).length === 0 ? {} : { content };
}

function contentOf(types: readonly string[] = []): Part {
  return Object.fromEntries(types.map((type) => [type, {}]));
}

function jsonOf(name: string): Part {
  return { 'application/json': { schema: { $ref: references.uri(name) } } };
}

/** Removes `$id` and `$schema`, which embedded schemas do not have. */
function withoutIdentifiers(schema: object): Part {
  return Object.fromEntries(Object.entries(schema).filter(([name]) => name !== '$schema' && name !== '$id'));
}
