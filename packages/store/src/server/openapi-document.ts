import * as protocol from '@agentlightning/core/protocol';
import { z } from 'zod';
import { storeRoutes } from './route-handler.ts';

/** A part of the document. */
type Part = Readonly<Record<string, unknown>>;

type StoreRoute = protocol.StoreRoute;

/** Domain types with a name in the document. Bodies and responses of other types are named after their operation. */
const domainTypes: Readonly<Record<string, z.ZodType>> = {
  Error: protocol.errorCodec,
  Rollout: protocol.rolloutCodec,
  RolloutConfig: protocol.rolloutConfigCodec,
  AttemptedRollout: protocol.attemptedRolloutCodec,
  Attempt: protocol.attemptCodec,
  Worker: protocol.workerCodec,
  Resources: protocol.resourcesSnapshotCodec,
  Span: protocol.spanInputCodec,
  Run: protocol.runCodec,
  Metrics: protocol.metricPointCodec,
  DeletionCounts: protocol.deletionCountsCodec,
  Change: protocol.changeCodec,
};

/** The schemas of the components by name. */
const components = z.registry<{ readonly id: string }>();
for (const [id, codec] of Object.entries(domainTypes)) components.add(wireSchemaOf(codec), { id });
const jsonTypes = storeRoutes.flatMap(([name, { body, response }]) => [
  { codec: body, id: `${capitalised(name)}Request` },
  { codec: response, id: `${capitalised(name)}Response` },
]);
for (const { codec, id } of jsonTypes) {
  if (codec !== undefined && !components.has(wireSchemaOf(codec))) components.add(wireSchemaOf(codec), { id });
}

const references = {
  uri: (id: string): string => `#/components/schemas/${id}`,
  unrepresentable: 'any',
  io: 'input',
} as const;

/** The OpenAPI 3.1 document of the store's server, generated from the route table and its codecs. */
export function openApiDocument(): Part {
  const paths: Record<string, Record<string, Part>> = {};
  for (const [name, route] of storeRoutes) {
    const path = route.path.replace(/:(\w+)/g, (_, parameter: string) => `{${parameter}}`);
    paths[path] = { ...paths[path], [route.method.toLowerCase()]: operationOf(name, route) };
  }
  return {
    openapi: '3.1.0',
    info: {
      title: 'Agent Lightning store',
      version: '0.3.0',
      description: 'The store protocol of Agent Lightning 0.3 with compatible extensions. Times are Unix seconds.',
      license: { name: 'MIT', identifier: 'MIT' },
    },
    servers: [{ url: '/' }],
    security: [{}, { bearer: [] }, { password: [] }],
    tags: [...new Set(storeRoutes.map(([, route]) => tagOf(route)))].map((name) => ({ name })),
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
  const { schemas } = z.toJSONSchema(components, references);
  return Object.fromEntries(Object.entries(schemas).map(([id, schema]) => [id, withoutIdentifiers(schema)]));
}

function operationOf(name: string, route: StoreRoute): Part {
  const { summary, isInProtocol = false, status = 200 } = route;
  const parameters = [...pathParametersOf(route), ...queryParameters(route), ...headerParameters(route)];
  const body = bodyOf(route);
  return {
    operationId: name,
    summary,
    description: `${isInProtocol ? 'In' : 'Not in'} the protocol of Agent Lightning 0.3.`,
    tags: [tagOf(route)],
    'x-right': route.right,
    ...(parameters.length === 0 ? {} : { parameters }),
    ...(body === null ? {} : { requestBody: body }),
    responses: {
      [status]: { description: 'Success.', ...responseOf(route) },
      default: { description: 'The error and its remedy.', content: jsonOf(protocol.errorCodec) },
    },
  };
}

/** The first segment of the path below `/v1/agl`. */
function tagOf({ path }: StoreRoute): string {
  const [, topic = 'server'] = /^\/v1\/agl\/([a-z]+)\b(?!\.)/.exec(path) ?? [];
  if (/^\/v1\/(?!agl)/.test(path)) return 'OpenTelemetry';
  return topic === 'health' || topic === 'statistics' ? 'server' : topic;
}

function pathParametersOf(route: StoreRoute): readonly Part[] {
  return protocol
    .pathParameters(route)
    .map((name) => ({ name, in: 'path', required: true, schema: { type: 'string' } }));
}

function queryParameters({ query }: StoreRoute): readonly Part[] {
  if (query === undefined) return [];
  const { properties = {}, required = [] } = z.toJSONSchema(query, { unrepresentable: 'any', io: 'input' });
  return Object.entries(properties).map(([name, schema]) => ({
    name,
    in: 'query',
    required: required.includes(name),
    schema,
  }));
}

function headerParameters({ idempotency }: StoreRoute): readonly Part[] {
  const description =
    'Identical for all retries of a request: it is executed once, and each retry gets the same response.';
  const schema = { type: 'string', minLength: 1, maxLength: 255 };
  return idempotency === undefined
    ? []
    : [{ name: 'Idempotency-Key', in: 'header', required: false, description, schema }];
}

function bodyOf({ body, isBodyOptional = false, otherTypes }: StoreRoute): Part | null {
  const content = { ...contentOf(otherTypes?.body), ...(body === undefined ? {} : jsonOf(body)) };
  return Object.keys(content).length === 0 ? null : { required: !isBodyOptional, content };
}

function responseOf({ response, otherTypes }: StoreRoute): Part {
  const content = { ...contentOf(otherTypes?.response), ...(response === undefined ? {} : jsonOf(response)) };
  return Object.keys(content).length === 0 ? {} : { content };
}

function contentOf(types: readonly string[] = []): Part {
  return Object.fromEntries(types.map((type) => [type, {}]));
}

function jsonOf(codec: z.ZodType): Part {
  const id = components.get(wireSchemaOf(codec))?.id ?? '';
  return { 'application/json': { schema: { $ref: references.uri(id) } } };
}

/** The wire side of a codec: several codecs can have the same. */
function wireSchemaOf(codec: z.ZodType): z.ZodType {
  return codec instanceof z.ZodCodec ? (codec.in as z.ZodType) : codec;
}

function capitalised(name: string): string {
  return name.charAt(0).toUpperCase() + name.slice(1);
}

/** Removes `$id` and `$schema`, which embedded schemas do not have. */
function withoutIdentifiers(schema: object): Part {
  return Object.fromEntries(Object.entries(schema).filter(([name]) => name !== '$schema' && name !== '$id'));
}
