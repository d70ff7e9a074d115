/**
 * Asks a real small language model for the country of a city, in one word.
 *
 * An ordinary agent on the official `openai` client. The model knows many of the answers but is verbose: "Paris is the
 * capital of…". Training teaches it to return the country only.
 *
 * @module
 */
import { traceFetch } from '@agentlightning/fetch';
import OpenAI from 'openai';
import { z } from 'zod';

/** A city, and the country it is in. */
export const cityTask = z.object({ city: z.string(), country: z.string() });

export type CityTask = z.infer<typeof cityTask>;

const client = new OpenAI({ apiKey: process.env['OPENAI_API_KEY'] ?? 'none', fetch: traceFetch() });

/** The model's unmodified answer. */
export async function countryOf(city: string): Promise<string> {
  const completion = await client.chat.completions.create({
    model: 'smollm2',
    messages: [
      { role: 'system', content: 'Reply with the name of the country only.' },
      { role: 'user', content: `In which country is ${city}?` },
    ],
    max_tokens: 8,
  });
  return completion.choices[0]?.message.content ?? '';
}

/**
 * The agent as the trainer runs it: 1 for the country and nothing else. An answer with the country among other words gets a
 * partial reward, which is larger when it starts with the country and when it is shorter. Without partial rewards, the
 * initial model would have no learning signal.
 */
export async function capitals({ city, country }: CityTask): Promise<number> {
  return scoreAnswer(await countryOf(city), country);
}

/** Between 0 and 1. */
export function scoreAnswer(answer: string, country: string): number {
  const said = answer.trim().replace(/\.$/, '');
  if (said === country) return 1;
  if (!said.includes(country)) return 0;
  return (said.startsWith(country) ? 0.4 : 0.1) + (0.2 * country.length) / said.length;
}
