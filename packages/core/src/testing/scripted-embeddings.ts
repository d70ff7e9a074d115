import * as z from 'zod';
import type { JsonObject } from '../base/json.ts';
import { problemOf } from './scripted-request-problem.ts';

const schema = z.looseObject({
  model: z.string().min(1),
  input: z.union([z.string().min(1), z.array(z.string()).min(1), z.array(z.int()).min(1)]),
  encoding_format: z.enum(['float', 'base64']).nullish(),
});

/** A request for embeddings. */
export interface ScriptedEmbeddingsCall {
  readonly model: string;
  readonly texts: readonly string[];
  readonly isBase64: boolean;
}

/** Parses an embeddings request as strictly as a real server. */
export function readEmbeddingsRequest(body: unknown): ScriptedEmbeddingsCall | { readonly problem: string } {
  const parsed = schema.safeParse(body);
  if (!parsed.success) return problemOf(parsed.error);
  const { model, input, encoding_format: encoding } = parsed.data;
  const texts = Array.isArray(input) && typeof input[0] === 'string' ? input.map(String) : [String(input)];
  return { model, texts, isBase64: encoding === 'base64' };
}

/** Synthetic embeddings, deterministic per text. */
export function embeddingsBody({ model, texts, isBase64 }: ScriptedEmbeddingsCall): JsonObject {
  const tokens = texts.reduce((sum, text) => sum + text.length, 0);
  const encode = (vector: readonly number[]): string =>
    Buffer.from(Float32Array.from(vector).buffer).toString('base64');
  return {
    object: 'list',
    model,
    data: texts.map((text, index) => {
      const vector = embeddingOf(text);
      return { object: 'embedding', index, embedding: isBase64 ? encode(vector) : vector };
    }),
    usage: { prompt_tokens: tokens, total_tokens: tokens },
  };
}

/** Three numbers that 32-bit floats represent exactly. */
function embeddingOf(text: string): readonly number[] {
  const sum = [...text].reduce((total, letter) => (total * 31 + (letter.codePointAt(0) ?? 0)) % 997, 7);
  return [sum / 1024, -sum / 2048, text.length / 4096];
}
