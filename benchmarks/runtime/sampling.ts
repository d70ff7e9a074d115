import type { InferenceEndpoint } from '@agentlightning/core/training-runtime';
import { z } from 'zod';
import type { Work } from './training.ts';

const answer = z.object({ usage: z.object({ completion_tokens: z.number() }) });

/** An endpoint and its API key, where it requires one. */
export type KeyedEndpoint = InferenceEndpoint & { readonly apiKey?: string | undefined };

/** Tokens a second that an endpoint samples for many callers at once, each with its own prompt and completions. */
export async function sampledPerSecond(endpoint: KeyedEndpoint, work: Work, round: number): Promise<number> {
  const began = performance.now();
  const callers = Array.from({ length: work.answers / work.group }, (_, index) => `${round}-${index}`);
  const counts = await Promise.all(callers.map((text) => completionTokens(endpoint, work, text)));
  return counts.reduce((sum, count) => sum + count, 0) / ((performance.now() - began) / 1000);
}

async function completionTokens({ baseUrl, model, apiKey }: KeyedEndpoint, work: Work, text: string): Promise<number> {
  const response = await fetch(`${baseUrl}/chat/completions`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...(apiKey && { authorization: `Bearer ${apiKey}` }) },
    body: JSON.stringify({
      model,
      messages: [{ role: 'user', content: `Tell me of ${text}.` }],
      max_tokens: work.answerTokens,
      temperature: work.temperature,
      n: work.group,
      logprobs: true,
    }),
  });
  if (!response.ok) throw new Error(`${baseUrl} answered ${response.status}: ${await response.text()}`);
  return answer.parse(await response.json()).usage.completion_tokens;
}
