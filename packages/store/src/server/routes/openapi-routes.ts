import type { Hono } from 'hono';
import { answerJson } from '../answer.ts';
import { openApiDocument } from '../openapi/openapi-document.ts';

/** The OpenAPI document. */
export function addOpenApiRoutes(app: Hono): void {
  let document: unknown;
  app.get('/openapi.json', (context) => {
    document ??= openApiDocument();
    return answerJson(context, document);
  });
}
