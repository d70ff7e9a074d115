import { traceFetch } from '@agentlightning/fetch';
import OpenAI from 'openai';

/** A task of {@link sayDigit}. */
export interface DigitTask {
  readonly digit: string;
}

/** One task for each digit. */
export const digits: readonly DigitTask[] = Array.from('0123456789', (digit) => ({ digit }));

const client = new OpenAI({ apiKey: 'none', fetch: traceFetch() });

/** An agent on the official client: its reward is 1 when it responds with the requested digit. */
export async function sayDigit({ digit }: DigitTask): Promise<number> {
  const { choices } = await client.chat.completions.create({
    model: 'tiny',
    messages: [{ role: 'user', content: digit }],
    max_tokens: 1,
  });
  const said = choices[0]?.message.content ?? '';
  if (said === digit) return 1;
  return /^\d$/.test(said) ? 0.5 : 0;
}
