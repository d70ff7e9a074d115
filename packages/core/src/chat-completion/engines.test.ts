import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { CapturedResponse } from './captured-response.ts';
import { type EngineTerms, engines } from './engines.ts';

const read = (file: string) => JSON.parse(readFileSync(join(import.meta.dirname, file), 'utf8'));

describe('the terms of engines', () => {
  it('match their schema, which rejects others', () => {
    const schema = z.fromJSONSchema(read('engines.schema.json'));
    expect(schema.parse(read('engines.json'))).toMatchObject(engines);
    expect(schema.safeParse({ ...engines, sglang: { ...engines.sglang, routes: {} } }).success).toBe(false);
  });

  const fields = Object.values(engines).flatMap(({ name, response }: EngineTerms) =>
    response.tokenIds.map((field): [string, string, string] => [name, field, response.promptTokenIds]),
  );
  it.each(fields)('of %s: the ids are read from %s and %s', (_name, ids, prompt) => {
    const captured = new CapturedResponse();
    captured.add({ choices: [{ index: 0, [ids]: [7, 8], [prompt]: [1, 2] }] });
    expect(captured.promptTokenIds).toEqual([1, 2]);
    expect(captured.choices[0]?.responseTokenIds).toEqual([7, 8]);
  });

  it('request token ids and render messages in the same way everywhere', () => {
    for (const { request, routes } of Object.values(engines) as readonly EngineTerms[]) {
      expect(request.tokenIds).toBe(engines.runtime.request.tokenIds);
      expect(routes.tokenize).toBe(engines.runtime.routes.tokenize);
    }
  });
});
